import MeshBase

/// Delivers a stream's elements one at a time on the main actor, as a subscriber requests them. Elements that aren't
/// requested yet wait in the stream's own bounded buffer.
///
/// Safe to use from any thread. Ends its task when it is released or cancelled.
final class DemandPump: Sendable {
    private let demand = Demand()
    private let task = OwnedTasks()

    deinit { cancel() }

    /// Starts the stream. Call it once.
    /// - Parameters:
    ///   - receive: takes an element and returns the number of additional elements wanted; nil for all.
    ///   - finish: called when the stream has ended and another element is requested; not after `cancel`.
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

    /// Requests `count` additional elements; nil for all.
    func request(_ count: Int?) { demand.add(count) }

    func cancel() {
        demand.cancel()
        task.cancel()
    }
}

/// The number of requested elements, and the task that waits for a request.
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

    /// Waits until an element is requested.
    /// - Returns: false if cancelled.
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
            // Unlimited demand is never used up.
            if content.count < .max { content.count -= 1 }
            return true
        }
    }
}
