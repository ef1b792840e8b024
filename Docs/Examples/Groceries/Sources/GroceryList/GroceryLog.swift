import MeshEngine
import MeshIdentity
public import MeshSession

/// Follows a session by an `AsyncStream`, the second of three ways: for a task that needs each step in order.
@MainActor
public final class GroceryLog {
    public private(set) var lines: [String] = []

    public init() {}

    /// Appends a line for each update. Returns when the session closes or the task is cancelled.
    public func follow(_ updates: AsyncStream<GroceryUpdate>) async {
        for await update in updates {
            switch update {
            case .snapshot(let list, _, let missed):
                lines.append("\(list.items.count) items, \(missed) steps not told")
            case .applied(let events, _):
                lines += events.map { "\($0.envelope.metadata.sourcePeerID): \($0.envelope.payload)" }
            case .reordered(let events, let list):
                lines.append("\(events.count) came late: \(list.items.joined(separator: ", "))")
            case .confirmed(let events):
                lines += events.map { "for good: \($0.envelope.payload)" }
            }
        }
    }
}
