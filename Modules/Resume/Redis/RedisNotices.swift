#if Redis
    internal import MeshBase
    internal import MeshResumeGateway

    /// Reads what all processes append, on one connection and one thread, however many streams there are.
    ///
    /// After a lost connection it goes on where it was. What was trimmed meanwhile is counted and not told, and what an old
    /// incarnation of the store held neither: a new one is read from its beginning.
    final class RedisNotices: Sendable {
        private struct State {
            var isClosed = false
            var missedCount: UInt64 = 0
            var begun: CheckedContinuation<ReplayBufferError?, Never>?
        }

        private let address: RedisAddress
        private let script: ReplayScript
        private let topic: Topic<ReplayNotice>
        private let words: Topic<MailboxWord>
        private let state = Locked(State())
        /// How long one read waits; after each that found nothing the store is asked whether it is still the same.
        private static let blockMilliseconds = 500
        private static let batchCount = 256

        init(
            _ address: RedisAddress, _ script: ReplayScript, _ topic: Topic<ReplayNotice>, _ words: Topic<MailboxWord>
        ) {
            self.address = address
            self.script = script
            (self.topic, self.words) = (topic, words)
        }

        /// Entries that were trimmed before this process had read them.
        var missedCount: UInt64 { state.withLock { $0.missedCount } }

        /// Returns once every later event will be told.
        func start() async throws(ReplayBufferError) {
            let failure = await withCheckedContinuation { continuation in
                state.withLock { $0.begun = continuation }
                do { try BlockingThread.start { self.run() } } catch { begin("no thread: \(error)") }
            }
            if let failure { throw failure }
        }

        func close() { state.withLock { $0.isClosed = true } }

        private var isClosed: Bool { state.withLock { $0.isClosed } }

        // MARK: On the thread

        private func run() {
            var backoff = Backoff(from: .milliseconds(50), to: .seconds(2))
            var random = SplitMix64(seed: .random(in: 0 ... .max))
            var place: ReplayScript.Tail?
            while !isClosed {
                do {
                    let timeout = script.settings.timeout + .milliseconds(Self.blockMilliseconds)
                    let connection = try ScriptConnection(address, timeout: timeout)
                    try follow(connection, &place) { backoff.reset() }
                } catch {
                    // Whoever connects for the first time is told; later tries go on.
                    begin("\(address): \(error)")
                    if !isClosed { BlockingThread.sleep(backoff.next(&random)) }
                }
            }
            topic.finish()
            words.finish()
        }

        private func follow(
            _ connection: ScriptConnection, _ place: inout ReplayScript.Tail?, hasAnswered: () -> Void
        ) throws(RedisFailure) {
            while !isClosed {
                let value = try connection.call(script.arguments(.tail, known: place))
                guard let tail = ReplayScript.tail(value) else { throw RedisFailure("no tail: \(value)") }
                if place == nil { place = tail }
                if place?.incarnation != tail.incarnation { place = .init(incarnation: tail.incarnation, count: 0) }
                hasAnswered()
                begin(nil)
                while !isClosed, let from = place, let notices = try read(connection, from) {
                    place = tell(notices, from)
                }
            }
        }

        /// - Returns: nil when there was nothing.
        private func read(
            _ connection: ScriptConnection, _ from: ReplayScript.Tail
        ) throws(RedisFailure) -> [(tail: ReplayScript.Tail, notice: ReplayNotice)]? {
            // Beyond the largest second half of an id with that number.
            let value = try connection.plainCall([
                "XREAD", "COUNT", "\(Self.batchCount)", "BLOCK", "\(Self.blockMilliseconds)", "STREAMS",
                script.noticesKey, "\(from.count)-\(UInt64.max)",
            ])
            if case .none = value { return nil }
            guard let notices = ReplayScript.notices(value) else { throw RedisFailure("damaged notices") }
            return notices
        }

        /// - Returns: the new place; nil where they are another incarnation's, of which the beginning is missing.
        private func tell(
            _ notices: [(tail: ReplayScript.Tail, notice: ReplayNotice)], _ from: ReplayScript.Tail
        ) -> ReplayScript.Tail? {
            guard let first = notices.first, let last = notices.last else { return from }
            guard notices.allSatisfy({ $0.tail.incarnation == from.incarnation }) else {
                return .init(incarnation: last.tail.incarnation, count: 0)
            }
            let missed = first.tail.count > from.count + 1 ? first.tail.count - from.count - 1 : 0
            if missed > 0 { state.withLock { $0.missedCount += missed } }
            let events = notices.map(\.notice).filter { $0.entry.sequence > 0 }
            if !events.isEmpty { topic.publish(contentsOf: events) }
            let told = notices.compactMap { ReplayScript.word($0.notice) }
            if !told.isEmpty { words.publish(contentsOf: told) }
            return last.tail
        }

        private func begin(_ failure: String?) {
            let waiting = state.withLock { state in
                if failure != nil, state.begun != nil { state.isClosed = true }
                return state.begun.take()
            }
            waiting?.resume(returning: failure.map { ReplayBufferError(.unavailable, $0) })
        }
    }
#endif
