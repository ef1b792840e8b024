import MeshBase

/// Hands a stream's elements on as they are asked for, one after another, on the main actor. What is not asked for waits in the
/// stream's own bounded buffer.
///
/// Safe to use from any thread. Ends its task when it goes, or is cancelled.
final class DemandPump: Sendable {
    private let demand = Demand()
    private let task = OwnedTasks()

    deinit { cancel() }

    /// Once.
    /// - Parameters:
    ///   - receive: returns how many more are wanted; nil is all.
    ///   - finish: the stream has ended and somebody asked for more; not after `cancel`.
    func start<Element: Sendable>(
        _ stream: @escaping @MainActor @Sendable () -> AsyncStream<Element>,
        receive: @escaping @MainActor @Sendable (Element) -> Int?, finish: @escaping @MainActor @Sendable () -> Void
    ) {
        task.hold([
            Task { @MainActor [demand] in
                var elements = stream().makeAsyncIterator()
                while await demand.takeOne() {
                    guard let element = await elements.next(), !demand.isCancelled else { break }
                    demand.add(receive(element))
                }
                if !demand.isCancelled { finish() }
            }
        ])
    }

    /// - Parameter count: nil is all.
    func request(_ count: Int?) { demand.add(count) }

    func cancel() {
        demand.cancel()
        task.cancel()
    }
}

/// How many elements are wanted, and the task that waits for more to be.
private final class Demand: Sendable {
    private struct Content: Sendable {
        var count = 0
        var isCancelled = false
        var waiter: CheckedContinuation<Void, Never>?
    }

    private let content = Locked(Content())

    var isCancelled: Bool { content.withLock { $0.isCancelled } }

    func add(_ count: Int?) {
        change { content in
            let (sum, isOver) = content.count.addingReportingOverflow(max(0, count ?? .max))
            content.count = isOver ? .max : sum
        }
    }

    func cancel() { change { $0.isCancelled = true } }

    private func change(_ body: (inout Content) -> Void) {
        let waiter = content.withLock { content in
            body(&content)
            return content.count > 0 || content.isCancelled ? content.waiter.take() : nil
        }
        waiter?.resume()
    }

    /// Waits until one is wanted.
    /// - Returns: false when cancelled.
    func takeOne() async -> Bool {
        await withCheckedContinuation { waiter in
            let isDue = content.withLock { content in
                if content.count == 0, !content.isCancelled { content.waiter = waiter }
                return content.waiter == nil
            }
            if isDue { waiter.resume() }
        }
        return content.withLock { content in
            guard !content.isCancelled else { return false }
            // All there are is never used up.
            if content.count < .max { content.count -= 1 }
            return true
        }
    }
}
