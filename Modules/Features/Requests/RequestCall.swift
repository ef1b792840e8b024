import Foundation
import MeshBase
import MeshConnection
import MeshIdentity

/// The state of one request from the call to its end, for `RequesterCore`.
struct RequestCall: Sendable {
    /// The caller's options.
    struct Options: Sendable {
        var strategy: DeliveryStrategy
        var delivery: DeliveryMode
        var policy: RetryPolicy
        /// The peer to ask; nil for all peers.
        var peer: SessionPeer?
    }

    /// The next step of a call. An answer may arrive in every phase.
    enum Phase: Hashable {
        /// The transport was given that copy and hasn't accepted it yet.
        case submitting(UUID)
        /// The next attempt comes at that time, or when the peer becomes reachable.
        case pausing(until: Duration)
        /// A live copy was sent. It counts as lost if neither a receipt nor an answer arrives by then.
        case listening(until: Duration)
        /// The call waits for its reply. Nothing more will be sent.
        case awaitingReply

        var due: Duration? {
            switch self {
            case .pausing(let due), .listening(let due): due
            case .submitting, .awaitingReply: nil
            }
        }
    }

    let id: UUID
    let type: String
    let payload: Data
    let isFireAndForget: Bool
    let options: Options
    /// The time of the call. Rises with each call.
    let stamp: HybridTimestamp
    let startedAt: Duration
    /// The encoder for ``RequestMessage/legacyBody``.
    var legacyPayload: (@Sendable () -> Data?)?

    var phase = Phase.awaitingReply
    var hasFallenBack = false
    var attempts = 1
    /// Delays between attempts while the peer seems unreachable. The call still tries, because reachability reports may
    /// be wrong.
    var backoff = Backoff(from: RetryPolicy.gap * 2, to: .seconds(2))
    /// True if the call has waited for the peer since the last attempt.
    var hasWaited = false
    /// True if the peer has confirmed a copy.
    var isConfirmed = false
    var sentAt: Duration?
    /// IDs of copies that may be under way. They are withdrawn when the call ends.
    var copies: [UUID] = []
    var lateCount = 0
    /// Peers that have answered that they have no handler.
    var refusals: Set<String> = []

    /// The lane of the next attempt.
    var method: DeliveryMethod {
        (hasFallenBack ? options.strategy.fallbackMethod : nil) ?? options.strategy.primaryMethod
    }
    var deadline: Duration { startedAt + options.policy.timeout }
    /// The next time at which the call needs a tick.
    var due: Duration { min(deadline, phase.due ?? deadline) }
}
