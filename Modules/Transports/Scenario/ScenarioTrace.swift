import MeshBase
public import MeshTransport

/// What happened in a scenario network, in order; two runs of one seed give the same.
public struct ScenarioTraceEntry: Hashable, Sendable, CustomStringConvertible {
    /// What the entry is about.
    public enum Subject: Hashable, Sendable {
        /// On the lane `stream`: a piece as it was handed over.
        case packet(LinkLane, byteCount: Int)
        /// The receiver was told that it is connected to the sender, or no longer.
        case connection(Bool)
    }

    /// What became of it.
    public enum Outcome: String, Hashable, Sendable {
        /// It arrived; it never will.
        case delivered, lost
    }

    /// Virtual time since the network's start.
    public let time: Duration
    /// The peer that sent, or of whom the receiver was told.
    public let senderID: String
    /// The receiver's `SessionPeer.id`.
    public let receiverID: String
    /// What was on its way.
    public let subject: Subject
    /// What became of it.
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

    /// Cuts back to the limit only once twice as many have gathered, so that recording stays O(1).
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
