import MeshBase

/// Everything that one subscription has brought so far, and whether it has ended. Safe to use from any thread.
public final class Recorder<Element: Sendable>: Sendable {
    private struct Record {
        var elements: [Element] = []
        var hasEnded = false
    }

    private let record: Locked<Record>
    private let listener: Task<Void, Never>

    /// - Parameter limit: elements beyond it are let go; no rule sends so many.
    init(_ stream: AsyncStream<Element>, limit: Int = 65_536) {
        let record = Locked(Record())
        self.record = record
        listener = Task {
            for await element in stream {
                record.withLock { if $0.elements.count < limit { $0.elements.append(element) } }
            }
            record.withLock { $0.hasEnded = true }
        }
    }

    deinit { listener.cancel() }

    /// The elements so far, in order.
    public var elements: [Element] { record.withLock { $0.elements } }
    /// The number of elements so far.
    public var count: Int { record.withLock { $0.elements.count } }
    /// Whether the stream has ended.
    public var hasEnded: Bool { record.withLock { $0.hasEnded } }

    func stop() { listener.cancel() }
}
