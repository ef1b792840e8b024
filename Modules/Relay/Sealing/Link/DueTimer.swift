#if MQTT || WebSocket
    import MeshBase
    import MeshTransport

    /// A task that calls its owner whenever something is due, and otherwise sleeps.
    package final class DueTimer: Sendable {
        private let clock: any DeliveryClock
        private let planned = Locked<Duration?>(nil)
        private let calls: AsyncStream<Void>
        private let caller: AsyncStream<Void>.Continuation

        package init(_ clock: any DeliveryClock) {
            self.clock = clock
            (calls, caller) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        }

        deinit { caller.finish() }

        /// Asks for a call at that time, unless an earlier one is planned; nil asks for none.
        package func wake(at time: Duration?) {
            guard let time else { return }
            let isNews = planned.withLock { planned in
                guard planned.map({ time < $0 }) ?? true else { return false }
                planned = time
                return true
            }
            guard isNews else { return }
            clock.wake(at: time) { [weak self] in
                self?.planned.withLock { if $0 == time { $0 = nil } }
                self?.wakeNow()
            }
        }

        package func wakeNow() { caller.yield() }

        /// Begins the calls. They end with the task's cancellation, and none is under way once the task has ended.
        package func run(_ body: @escaping @Sendable () -> Void) -> Task<Void, Never> {
            let calls = calls
            return Task { for await _ in calls where !Task.isCancelled { body() } }
        }
    }
#endif
