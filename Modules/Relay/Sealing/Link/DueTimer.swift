#if MQTT || WebSocket
    import MeshBase
    import MeshTransport

    /// A timer that calls its owner at planned times, in a task.
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

        /// Plans a call, unless an earlier one is planned. nil plans none.
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

        /// Starts the calls, which end when the task is cancelled. Once the task has ended, no call is running.
        package func run(_ body: @escaping @Sendable () -> Void) -> Task<Void, Never> {
            let calls = calls
            return Task { for await _ in calls where !Task.isCancelled { body() } }
        }
    }
#endif
