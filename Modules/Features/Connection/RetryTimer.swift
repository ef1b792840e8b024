import MeshBase
package import MeshTransport

/// Calls a feature on its connection's clock when the next of its `RetryPlan`s is due.
package final class RetryTimer: Sendable {
    private let clock: any DeliveryClock
    private let body: @Sendable () -> Void
    private let next = Locked<Duration?>(nil)

    package init(_ clock: any DeliveryClock, body: @escaping @Sendable () -> Void) {
        (self.clock, self.body) = (clock, body)
    }

    /// Schedules a call of `body`. Does nothing if an earlier call is scheduled, so `body` must schedule the next call
    /// itself.
    package func wake(at time: Duration?) {
        guard let time else { return }
        let planned = next.withLock { next in
            defer { next = min(next ?? time, time) }
            return next
        }
        if let planned, planned <= time { return }
        clock.wake(at: time) { [weak self] in
            self?.next.withLock { if $0 == time { $0 = nil } }
            self?.body()
        }
    }
}
