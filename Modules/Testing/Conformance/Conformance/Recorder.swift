import MeshBase

/// The elements of a stream so far, and whether it has ended. May be used on any thread.
public final class Recorder<Element: Sendable>: Sendable {
    private struct Record {
        var elements: [Element] = []
        var hasEnded = false
    }

    private let record: Locked<Record>
    private let listener: Task<Void, Never>

    /// - Parameter limit: maximum number of elements, more than any rule sends. Drops the rest.
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
    /// True if the stream has ended.
    public var hasEnded: Bool { record.withLock { $0.hasEnded } }

    func stop() { listener.cancel() }
}
