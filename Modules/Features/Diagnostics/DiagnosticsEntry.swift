public import Foundation
import MeshIdentity
import MeshTransport

/// One line of a recording: what passed between peers, or how one of them stands. Fit for JSON Lines.
///
/// Everything in it may have come from a peer: show it as text.
public struct DiagnosticsEntry: Codable, Hashable, Sendable {
    public enum Kind: String, Codable, Sendable {
        case envelope, snapshot, request, reachability
        /// How a peer stands: state, vector, confirmed.
        case state
        /// Anything else, in words.
        case note
    }

    /// What happened to a message where it was recorded.
    public enum Step: String, Codable, Sendable {
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
    public var kind: Kind
    public var step: Step?
    public var from: String?
    /// Nil of what went to all.
    public var to: String?
    public var feature: String?
    public var payloadType: String?
    public var sequence: UInt64?
    /// The same where a message is sent and where it is received.
    public var message: String?
    public var mode: String?
    /// Of the payload, where it was bytes.
    public var bytes: Int?
    public var codec: String?
    public var text: String?
    /// Events that are final, of a state.
    public var confirmed: UInt64?
    /// Milliseconds since 1970 below which the order is final; of a state.
    public var cut: UInt64?
    /// By source: the last sequence that is held without a gap; of a state.
    public var vector: [String: UInt64]?
    /// By peer: how far it has come; of a state.
    public var sync: [String: String]?
    /// JSON text of the state itself.
    public var state: String?

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
        payloadType = metadata.payloadType
        sequence = metadata.sequence
        message = metadata.eventID.uuidString
        self.mode = mode?.rawValue
    }
}
