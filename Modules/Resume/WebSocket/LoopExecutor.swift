#if WebSocket
    package import NIOCore

    /// Runs short tasks on an event loop, so that an answer that is available at once needs no other thread. Such a
    /// task must not block.
    package struct LoopExecutor: Sendable {
        @available(macOS 15, iOS 18, watchOS 11, tvOS 18, visionOS 2, *)
        private final class Executor: TaskExecutor {
            private let loop: any EventLoop

            init(_ loop: any EventLoop) { self.loop = loop }

            func enqueue(_ job: consuming ExecutorJob) {
                let job = UnownedJob(job)
                loop.execute { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
            }
        }

        private let executor: any AnyObject & Sendable

        /// - Returns: nil on systems without task executors.
        package init?(_ loop: any EventLoop) {
            guard #available(macOS 15, iOS 18, watchOS 11, tvOS 18, visionOS 2, *) else { return nil }
            executor = Executor(loop)
        }

        /// Starts a task.
        ///
        /// - Parameter executor: runs the task; nil for Swift's thread pool.
        @discardableResult
        package static func run(
            on executor: LoopExecutor?, _ body: @escaping @Sendable () async -> Void
        ) -> Task<Void, Never> {
            if #available(macOS 15, iOS 18, watchOS 11, tvOS 18, visionOS 2, *),
                let executor = executor?.executor as? Executor
            {
                return Task(executorPreference: executor) { await body() }
            } else {
                return Task { await body() }
            }
        }
    }

    extension EventLoop {
        /// Calls a function on the loop: at once if the caller runs on it.
        package func perform(_ body: @escaping @Sendable () -> Void) {
            if inEventLoop { body() } else { execute(body) }
        }
    }
#endif
