public import Foundation
import MeshIdentity
import MeshTransport

/// One line of a recording, for JSON Lines: a message between peers, or the status of a peer.
///
/// All contents may come from a peer, so show them only as text.
public struct DiagnosticsEntry: Codable, Hashable, Sendable {
    /// The subject of an entry.
    public enum Kind: String, Codable, Sendable {
        /// A message between peers, or a change of a peer's reachability.
        case envelope, snapshot, request, reachability
        /// The status of a peer: state, vector, confirmed events.
        case state
        /// Any other text of the recording.
        case note
    }

    /// The step of a message at which the entry was recorded.
    public enum Step: String, Codable, Sendable {
        /// The outcome of a message, as the case's name says.
        case sent, received, acknowledged, failed, lost
        /// The event arrived out of order. Later events had been applied already, so they were rolled back and reduced
        /// again.
        case late
    }

    /// The number of the entry, which counts from 1 within a recording.
    public var number: UInt64
    /// The time in seconds since 1970, by the clock of the peer that recorded it.
    public var at: TimeInterval
    /// The peer that recorded it.
    public var peer: String
    /// The subject of the entry.
    public var kind: Kind
    /// The step of the message; nil for an entry that isn't about one.
    public var step: Step?
    /// The peer ID of the message's author.
    public var from: String?
    /// The peer ID of the message's receiver; nil if it was sent to all.
    public var to: String?
    /// The feature of the message or the state.
    public var feature: String?
    /// The ID of the message's or the state's session; nil in recordings of earlier versions.
    public var session: String?
    /// The type of the message's payload.
    public var payloadType: String?
    /// The message's place in its author's sequence.
    public var sequence: UInt64?
    /// The key of the message, equal in the entries of its sender and its receiver.
    public var message: String?
    /// The delivery mode in which it was sent.
    public var mode: String?
    /// The size of the payload in bytes, if it was encoded.
    public var bytes: Int?
    /// The name of the codec that wrote the payload, if it was encoded.
    public var codec: String?
    /// The description for people: a reason, a payload, a state.
    public var text: String?
    /// The number of final events. Set in entries about a state.
    public var confirmed: UInt64?
    /// The time in milliseconds since 1970 below which the order is final. Set in entries about a state.
    public var cut: UInt64?
    /// The last sequence number held without a gap, by source. Set in entries about a state.
    public var vector: [String: UInt64]?
    /// The progress of each peer, by ID. Set in entries about a state.
    public var sync: [String: String]?
    /// The state as JSON text. A snapshot's entry has it if `DiagnosticsSession.recordPayloads` was called for its type.
    public var state: String?
    /// The event of an envelope as JSON text, if `DiagnosticsSession.recordPayloads` was called for its type.
    public var event: String?

    /// Creates an entry without further contents. `at` is in seconds since 1970.
    public init(number: UInt64 = 0, at: TimeInterval, peer: String, kind: Kind, step: Step? = nil) {
        self.number = number
        self.at = at
        self.peer = peer
        self.kind = kind
        self.step = step
    }
}

extension DiagnosticsEntry {
    /// Creates an entry from a record of a peer's transport.
    ///
    /// - Parameter peer: the peer ID of the transport's owner.
    public init(_ record: DiagnosticsSession.Record, of peer: String) {
        self.init(
            number: record.number, at: record.at.timeIntervalSince1970, peer: peer, kind: .note)
        bytes = record.payloadBytes
        codec = record.codec
        switch record.event {
        case .snapshotSent, .snapshotReceived: state = record.payload
        default: event = record.payload
        }
        switch record.event {
        case .envelopeSent(let metadata, let mode, let to): describe(.envelope, .sent, metadata, mode, to)
        case .envelopeReceived(let metadata): describe(.envelope, .received, metadata, nil, peer)
        case .snapshotSent(let metadata, _, let mode, let to): describe(.snapshot, .sent, metadata, mode, to)
        case .snapshotReceived(let metadata, _): describe(.snapshot, .received, metadata, nil, peer)
        case .acknowledged(let metadata, let by): describe(.envelope, .acknowledged, metadata, nil, by)
        case .sendFailed(let metadata?, let mode, let reason):
            describe(.envelope, .failed, metadata, mode, nil)
            text = reason
        case .snapshotRequestSent(let to): (kind, step, from, self.to) = (.request, .sent, peer, to)
        case .snapshotRequestReceived(let sender): (kind, step, from, to) = (.request, .received, sender, peer)
        case .reachabilityChanged(let other, let isReachable):
            (kind, from, to, text) = (.reachability, other, peer, isReachable ? "reachable" : "unreachable")
        default: text = "\(record.event)"
        }
    }

    private mutating func describe(
        _ kind: Kind, _ step: Step, _ metadata: SessionSyncMetadata, _ mode: SessionDeliveryMode?, _ to: String?
    ) {
        self.kind = kind
        self.step = step
        from = metadata.sourcePeerID
        self.to = to
        feature = metadata.featureID
        session = metadata.sessionID.uuidString
        payloadType = metadata.payloadType
        sequence = metadata.sequence
        message = metadata.eventID.uuidString
        self.mode = mode?.rawValue
    }
}
