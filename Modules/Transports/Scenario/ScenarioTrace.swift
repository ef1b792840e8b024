import MeshBase
public import MeshTransport

/// An entry of a network's trace. Two runs with one seed give the same entries.
public struct ScenarioTraceEntry: Hashable, Sendable, CustomStringConvertible {
    /// The subject of an entry: a packet or a change of a connection.
    public enum Subject: Hashable, Sendable {
        /// A packet with its lane and size. On the lane `stream`, a piece as it was handed to the link.
        case packet(LinkLane, byteCount: Int)
        /// The receiver was notified that it is connected to the sender, or no longer.
        case connection(Bool)
    }

    /// The outcome for the subject.
    public enum Outcome: String, Hashable, Sendable {
        /// The packet or notification arrived, or never will.
        case delivered, lost
    }

    /// Virtual time since the network's start.
    public let time: Duration
    /// The peer that sent the packet, or whose connection the receiver was notified of.
    public let senderID: String
    /// The `SessionPeer.id` of the receiver.
    public let receiverID: String
    /// The packet, or the change of a connection.
    public let subject: Subject
    /// The outcome for the subject.
    public let outcome: Outcome

    public var description: String {
        let what =
            switch subject {
            case .packet(let lane, let byteCount): "\(lane), \(byteCount) bytes, \(outcome)"
            case .connection(let isConnected): isConnected ? "connected" : "disconnected"
            }
        return "\(time) \(senderID) → \(receiverID): \(what)"
    }
}

/// The newest entries, up to a limit.
struct ScenarioTrace {
    let limit: Int
    private var kept: [ScenarioTraceEntry] = []

    init(limit: Int) { self.limit = max(limit, 0) }

    var entries: [ScenarioTraceEntry] { kept.suffix(limit) }

    /// Adds an entry. Cuts back to the limit only at twice as many entries, so that recording stays O(1).
    mutating func record(
        _ subject: ScenarioTraceEntry.Subject, from sender: LinkAddress, to receiver: LinkAddress,
        _ outcome: ScenarioTraceEntry.Outcome, at time: UInt64
    ) {
        guard limit > 0 else { return }
        kept.append(
            ScenarioTraceEntry(
                time: Duration(nanoseconds: time), senderID: sender.rawValue, receiverID: receiver.rawValue,
                subject: subject, outcome: outcome))
        if kept.count >= 2 * limit { kept.removeFirst(kept.count - limit) }
    }
}
