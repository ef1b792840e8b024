import MeshEngine
import MeshIdentity
public import MeshSession

/// The second face, by an `AsyncStream`: what wants each step in its order, and runs as a task.
@MainActor
public final class GroceryLog {
    public private(set) var lines: [String] = []

    public init() {}

    /// Returns when the session closes, or its task is cancelled.
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
