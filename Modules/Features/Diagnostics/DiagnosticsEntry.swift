public import Foundation
import MeshIdentity
import MeshTransport

/// One line of a recording: what passed between peers, or how one of them stands. Fit for JSON Lines.
///
/// Everything in it may have come from a peer: show it as text.
public struct DiagnosticsEntry: Codable, Hashable, Sendable {
    /// What the line is about.
    public enum Kind: String, Codable, Sendable {
        /// A message between peers, or that one has come or gone.
        case envelope, snapshot, request, reachability
        /// How a peer stands: state, vector, confirmed.
        case state
        /// Anything else, in words.
        case note
    }

    /// What happened to a message where it was recorded.
    public enum Step: String, Codable, Sendable {
        /// What became of it, by the name.
        case sent, received, acknowledged, failed, lost
        /// It came after later ones had been applied, which were rolled back and reduced again.
        case late
    }

    /// Counts from 1 within a recording.
    public var number: UInt64
    /// Seconds since 1970 by the clock of the peer that recorded it.
    public var at: TimeInterval
    /// The peer that recorded it.
    public var peer: String
    /// What the line is about.
    public var kind: Kind
    /// What happened to the message; nil of what is none.
    public var step: Step?
    /// The message's author, by peer id.
    public var from: String?
    /// Nil of what went to all.
    public var to: String?
    /// The feature of the message or the state.
    public var feature: String?
    /// The ID of the message's or the state's session; nil in recordings of earlier versions.
    public var session: String?
    /// The type of the message's payload.
    public var payloadType: String?
    /// The message's place in its author's sequence.
    public var sequence: UInt64?
    /// The same where a message is sent and where it is received.
    public var message: String?
    /// The delivery mode in which it was sent.
    public var mode: String?
    /// Of the payload, where it was bytes.
    public var bytes: Int?
    /// The name of the codec that wrote the payload, where it was bytes.
    public var codec: String?
    /// In words for people: a reason, a payload, a state.
    public var text: String?
    /// Events that are final, of a state.
    public var confirmed: UInt64?
    /// Milliseconds since 1970 below which the order is final; of a state.
    public var cut: UInt64?
    /// By source: the last sequence that is held without a gap; of a state.
    public var vector: [String: UInt64]?
    /// By peer: how far it has come; of a state.
    public var sync: [String: String]?
    /// JSON text of the state itself. A snapshot has it where `DiagnosticsSession.recordPayloads` names the state's type.
    public var state: String?
    /// JSON text of the event that an envelope carries, where `DiagnosticsSession.recordPayloads` names its type.
    public var event: String?

    /// An entry with nothing more to say. `at` is in seconds since 1970.
    public init(number: UInt64 = 0, at: TimeInterval, peer: String, kind: Kind, step: Step? = nil) {
        self.number = number
        self.at = at
        self.peer = peer
        self.kind = kind
        self.step = step
    }
}

extension DiagnosticsEntry {
    /// - Parameter peer: whose transport it was.
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
