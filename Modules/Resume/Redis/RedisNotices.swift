#if Redis
    internal import MeshBase
    internal import MeshResumeGateway

    /// Reads what all processes append, on one connection and one thread, however many streams there are.
    ///
    /// After a lost connection it goes on where it was. What was trimmed meanwhile is counted and not told, and what an old
    /// incarnation of the store held neither: a new one is read from its beginning. An entry that can't be read, because
    /// another program wrote it, is skipped and counted.
    final class RedisNotices: Sendable {
        private struct State {
            var isClosed = false
            var missedCount: UInt64 = 0
            var skippedCount: UInt64 = 0
            var begun: CheckedContinuation<ReplayBufferError?, Never>?
        }

        /// How far this process has read.
        private struct Place {
            /// Counts only entries of ours: the store is asked whether it has come as far.
            var tail: ReplayScript.Tail
            /// The last entry, also if another program wrote it.
            var id: ReplayScript.EntryID

            /// Behind all entries with the tail's number.
            init(_ tail: ReplayScript.Tail) {
                self.tail = tail
                id = ReplayScript.EntryID(number: tail.count, rest: .max)
            }
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

        /// Entries that can't be read.
        var skippedCount: UInt64 { state.withLock { $0.skippedCount } }

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
            var place: Place?
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
            _ connection: ScriptConnection, _ place: inout Place?, hasAnswered: () -> Void
        ) throws(RedisFailure) {
            while !isClosed {
                let value = try connection.call(script.arguments(.tail, known: place?.tail))
                guard let tail = ReplayScript.tail(value) else { throw RedisFailure("no tail: \(value)") }
                if place == nil { place = Place(tail) }
                if place?.tail.incarnation != tail.incarnation {
                    place = Place(.init(incarnation: tail.incarnation, count: 0))
                }
                // The list has begun anew because a skipped entry had an id after which no number can come.
                if let read = place, read.tail.count < tail.count, tail.count < read.id.number {
                    place = Place(read.tail)
                }
                hasAnswered()
                begin(nil)
                while !isClosed, let from = place, let notices = try read(connection, from.id) {
                    place = tell(notices, from)
                }
            }
        }

        /// - Returns: nil when there was nothing.
        private func read(
            _ connection: ScriptConnection, _ from: ReplayScript.EntryID
        ) throws(RedisFailure) -> [ReplayScript.NoticeEntry]? {
            let value = try connection.plainCall([
                "XREAD", "COUNT", "\(Self.batchCount)", "BLOCK", "\(Self.blockMilliseconds)", "STREAMS",
                script.noticesKey, from.description,
            ])
            if case .none = value { return nil }
            guard let notices = ReplayScript.notices(value) else { throw RedisFailure("damaged notices") }
            return notices
        }

        /// - Returns: the new place; the beginning of another incarnation where the entries are that one's.
        private func tell(_ entries: [ReplayScript.NoticeEntry], _ from: Place) -> Place {
            guard let last = entries.last else { return from }
            let read = entries.compactMap(\.content)
            if let other = read.last(where: { $0.incarnation != from.tail.incarnation }) {
                return Place(.init(incarnation: other.incarnation, count: 0))
            }
            var missed: UInt64 = 0
            if let first = entries.firstIndex(where: { $0.content != nil }) {
                // A skipped entry may have moved the numbers on.
                let before = first > 0 ? entries[first - 1].id.number : from.id.number
                let number = entries[first].id.number
                missed = number > before ? number - before - 1 : 0
            }
            let skipped = UInt64(entries.count - read.count)
            if missed > 0 || skipped > 0 {
                state.withLock { state in
                    state.missedCount += missed
                    state.skippedCount += skipped
                }
            }
            let notices = read.map(\.notice)
            let events = notices.filter { $0.entry.sequence > 0 }
            if !events.isEmpty { topic.publish(contentsOf: events) }
            let told = notices.compactMap { ReplayScript.word($0) }
            if !told.isEmpty { words.publish(contentsOf: told) }
            var place = from
            place.id = last.id
            if let newest = entries.last(where: { $0.content != nil }) { place.tail.count = newest.id.number }
            return place
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
