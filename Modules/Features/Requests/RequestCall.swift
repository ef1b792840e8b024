import Foundation
import MeshBase
import MeshConnection
import MeshIdentity

/// One request from the call to its end, as `RequesterCore` keeps it.
struct RequestCall: Sendable {
    /// What the caller wants.
    struct Wish: Sendable {
        var strategy: DeliveryStrategy
        var delivery: DeliveryMode
        var policy: RetryPolicy
        /// nil asks everyone.
        var peer: SessionPeer?
    }

    /// What comes next for it. An answer may come in each of them.
    enum Phase: Hashable {
        /// The transport is being given that copy.
        case handing(UUID)
        /// The next attempt, then or when the peer comes.
        case pausing(until: Duration)
        /// A live copy is out; if there is no sign of the peer by then, it is lost.
        case listening(until: Duration)
        /// Nothing more is to be sent.
        case resting

        var due: Duration? {
            switch self {
            case .pausing(let due), .listening(let due): due
            case .handing, .resting: nil
            }
        }
    }

    let id: UUID
    let type: String
    let payload: Data
    let isFireAndForget: Bool
    let wish: Wish
    /// When it was asked: another one for each call, and rising.
    let stamp: HybridTimestamp
    let startedAt: Duration
    /// See ``RequestMessage/plainBody``.
    var plainPayload: (@Sendable () -> Data?)?

    var phase = Phase.resting
    var hasFallenBack = false
    var attempts = 1
    /// What is said about reachability may be a lie, so that it does not wait for the peer alone.
    var backoff = Backoff(from: RetryPolicy.gap * 2, to: .seconds(2))
    /// It has waited for the peer since the last attempt.
    var hasWaited = false
    /// The peer has it.
    var isHeard = false
    var sentAt: Duration?
    /// Those that may be on their way, so that they can be withdrawn.
    var copies: [UUID] = []
    var lateCount = 0
    /// Who has no handler.
    var refusals: Set<String> = []

    /// The lane of the next attempt.
    var method: DeliveryMethod { (hasFallenBack ? wish.strategy.fallbackMethod : nil) ?? wish.strategy.primaryMethod }
    var deadline: Duration { startedAt + wish.policy.timeout }
    /// When time alone changes something.
    var due: Duration { min(deadline, phase.due ?? deadline) }
}
