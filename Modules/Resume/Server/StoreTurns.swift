#if WebSocket
    import MeshBase
    import MeshResumeGateway
    import MeshWebSocket
    import NIOCore

    /// Asks a store on behalf of users, each within its share. Used on the event loop only.
    ///
    /// If the store is busy, asks again after 20 ms, because a failed question would close the user's connection.
    final class StoreTurns {
        /// Starts a question. Must call `finish` for its user once it is answered.
        typealias Question = @Sendable () -> Void

        private static let retryTime = TimeAmount.milliseconds(20)

        private let loop: any EventLoop
        private let start = ContinuousClock.now
        private var queue: FairQueue<Question>
        private var isWaiting = false
        private var isStarting = false
        /// Called when a user's devices must be paused (true) or resumed (false).
        var onStrain: (String, Bool) -> Void = { _, _ in }

        private let executor: LoopExecutor?

        /// - Parameter executor: runs the questions; nil for Swift's thread pool.
        init(_ budget: UserBudget, on loop: any EventLoop, executor: LoopExecutor? = nil) {
            (self.loop, self.executor) = (loop, executor)
            queue = FairQueue(budget)
        }

        func dropsLivePackets(of user: String) -> Bool { queue.dropsLivePackets(of: user) }

        /// Asks a question in this user's turn.
        ///
        /// - Parameters:
        ///   - isWanted: returns false if the question has become pointless before its turn.
        ///   - answered: called on the loop.
        func ask<Answer: Sendable>(
            of user: String, byteCount: Int = 0, isWanted: @escaping @Sendable () -> Bool = { true },
            _ question: @escaping @Sendable () async throws -> Answer,
            answered: @escaping @Sendable (Result<Answer, any Error>) -> Void
        ) {
            let (bound, loop, executor) = (NIOLoopBound(self, eventLoop: loop), loop, executor)
            queue.enter(
                {
                    guard isWanted() else { return bound.value.finish(user) }
                    LoopExecutor.run(on: executor) {
                        let answer: Result<Answer, any Error>
                        do { answer = .success(try await question()) } catch { answer = .failure(error) }
                        loop.perform {
                            if case .failure(let error as ReplayBufferError) = answer, error.code == .busy {
                                bound.value.retry(of: user, byteCount, isWanted, question, answered)
                            } else {
                                answered(answer)
                            }
                            bound.value.finish(user)
                        }
                    }
                }, of: user, byteCount: byteCount)
            startNext()
        }

        private func retry<Answer: Sendable>(
            of user: String, _ byteCount: Int, _ isWanted: @escaping @Sendable () -> Bool,
            _ question: @escaping @Sendable () async throws -> Answer,
            _ answered: @escaping @Sendable (Result<Answer, any Error>) -> Void
        ) {
            let bound = NIOLoopBound(self, eventLoop: loop)
            loop.scheduleTask(in: Self.retryTime) {
                bound.value.ask(of: user, byteCount: byteCount, isWanted: isWanted, question, answered: answered)
            }
        }

        private func finish(_ user: String) {
            queue.finish(user)
            startNext()
        }

        private func startNext() {
            guard !isStarting else { return }
            isStarting = true
            while let (_, question) = queue.take(start.duration(to: .now)) { question() }
            isStarting = false
            for (user, isStrained) in queue.takeStrained() { onStrain(user, isStrained) }
            // Work that waits for its user's rate needs a timer, because no answer may arrive that would start it.
            guard !queue.isEmpty, !isWaiting else { return }
            isWaiting = true
            let bound = NIOLoopBound(self, eventLoop: loop)
            loop.scheduleTask(in: Self.retryTime) {
                bound.value.isWaiting = false
                bound.value.startNext()
            }
        }
    }
#endif
