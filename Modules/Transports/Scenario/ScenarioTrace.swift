import MeshIdentity

/// What happened in a scenario network, in order; two runs of one seed give the same.
public struct ScenarioTraceEntry: Hashable, Sendable, CustomStringConvertible {
    public enum Subject: Hashable, Sendable {
        case envelope(featureID: String, sequence: UInt64)
        case snapshot(featureID: String, revision: UInt64)
        case snapshotRequest
        case reachability(Bool)
    }

    public enum Outcome: String, Hashable, Sendable {
        case delivered, lost
    }

    /// Virtual time since the network's start.
    public let time: Duration
    /// The peer that sent, or of which reachability tells.
    public let senderID: String
    public let receiverID: String
    public let subject: Subject
    public let outcome: Outcome

    public var description: String {
        let what =
            switch subject {
            case .envelope(let featureID, let sequence): "\(featureID) #\(sequence)"
            case .snapshot(let featureID, let revision): "\(featureID) snapshot \(revision)"
            case .snapshotRequest: "snapshot request"
            case .reachability(let isReachable): isReachable ? "reachable" : "unreachable"
            }
        return "\(time) \(senderID) → \(receiverID): \(what) \(outcome.rawValue)"
    }
}

/// The newest entries, up to a limit, and how many there were.
struct ScenarioTrace {
    let limit: Int
    private var kept: [ScenarioTraceEntry] = []

    init(limit: Int) { self.limit = max(limit, 0) }

    var entries: [ScenarioTraceEntry] { kept.suffix(limit) }

    mutating func record(
        _ message: ScenarioMessage, on route: Route, at time: UInt64, _ outcome: ScenarioTraceEntry.Outcome
    ) {
        let subject: ScenarioTraceEntry.Subject =
            switch message {
            case .envelope(let envelope):
                .envelope(featureID: envelope.metadata.featureID, sequence: envelope.metadata.sequence)
            case .snapshot(let snapshot):
                .snapshot(featureID: snapshot.metadata.featureID, revision: snapshot.revision)
            case .request: .snapshotRequest
            }
        record(
            ScenarioTraceEntry(
                time: Duration(nanoseconds: time), senderID: route.from, receiverID: route.to, subject: subject,
                outcome: outcome))
    }

    mutating func record(_ isReachable: Bool, on route: Route, at time: UInt64) {
        record(
            ScenarioTraceEntry(
                time: Duration(nanoseconds: time), senderID: route.to, receiverID: route.from,
                subject: .reachability(isReachable), outcome: .delivered))
    }

    /// Cuts back to the limit only once twice as many have gathered, so that recording stays O(1).
    private mutating func record(_ entry: ScenarioTraceEntry) {
        guard limit > 0 else { return }
        kept.append(entry)
        if kept.count >= 2 * limit { kept.removeFirst(kept.count - limit) }
    }
}
