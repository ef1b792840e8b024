#if Redis
    import MeshBase
    public import MeshResumeGateway

    /// A gateway's streams in Redis Streams (Redis 6.2 or newer, not a cluster of several masters), shared by all processes that
    /// use the same database and prefix.
    ///
    /// **Atomicity.** A script in Redis numbers, keeps, trims and publishes each event in one step. It is called by its digest,
    /// and sent again if Redis has forgotten it.
    ///
    /// **The fence.** Redis replicates and, by default, writes to disk after it has answered. So a restarted server or a promoted
    /// replica may lack the newest events. It must not continue the numbers, because clients have already seen the missing ones.
    /// Each call of the script therefore compares:
    /// - the server's replication ID with the one that the previous call saw. Redis generates a new ID whenever it starts as a
    ///   master, and whenever a replica is promoted;
    /// - the store's count of events with the highest count that the calling process has seen.
    ///
    /// If the server differs, or the store is older or missing, the store gets a new incarnation, and each of its streams a new
    /// epoch when it is next used. The script does this itself, on the first call by any process.
    ///
    /// **Notices.** They arrive through Redis Pub/Sub. A process that names the streams it serves (`notices(of:)`, as a gateway
    /// does) receives only their notices. After a lost connection each of these streams gets a `ReplayNotice.missed`.
    ///
    /// **Threads.** The buffer has two threads, each with a connection: one for questions in batches, one for notices. No call
    /// blocks Swift's pool. Copies of one buffer share both, and they end with the last copy.
    ///
    /// An append that throws `unavailable` may have happened, and the buffer doesn't repeat it. Cancellation has no effect: every
    /// call ends within a few times `RedisReplaySettings.timeout`.
    public struct RedisReplayBuffer: MailboxStore {
        private final class Parts: Sendable {
            let commands: RedisCommands
            let subscriber: RedisSubscriber
            let topic: Topic<ReplayNotice>
            let words: Topic<MailboxWord>

            init(_ address: RedisAddress, _ script: ReplayScript) throws(ReplayBufferError) {
                topic = Topic(bufferLimit: 4096)
                words = Topic(bufferLimit: 4096)
                do {
                    subscriber = try RedisSubscriber(address, script, topic, words)
                    commands = try RedisCommands(address, script)
                    try commands.start()
                    try subscriber.start()
                } catch {
                    throw ReplayBufferError(.unavailable, "can't start a thread for \(address)", cause: error)
                }
            }

            deinit {
                commands.close()
                subscriber.close()
            }
        }

        private let parts: Parts

        /// Connects to a Redis server. If the connection is lost later, the buffer reconnects by itself.
        ///
        /// - Throws: `ReplayBufferError.Code.unavailable`, also for a server that follows another.
        public static func connect(
            to address: RedisAddress, _ settings: RedisReplaySettings = RedisReplaySettings()
        ) async throws(ReplayBufferError) -> RedisReplayBuffer {
            try await RedisReplayBuffer(address, ReplayScript(settings: settings, database: address.database))
        }

        /// Connects with a shifted clock, for tests. `skew` is the time by which the store's clock is ahead.
        package static func connect(
            to address: RedisAddress, _ settings: RedisReplaySettings, skew: @escaping @Sendable () -> Duration
        ) async throws(ReplayBufferError) -> RedisReplayBuffer {
            try await RedisReplayBuffer(
                address, ReplayScript(settings: settings, database: address.database, skew: skew))
        }

        private init(_ address: RedisAddress, _ script: ReplayScript) async throws(ReplayBufferError) {
            parts = try Parts(address, script)
            _ = try await parts.commands.ask(.tail)
            await parts.subscriber.waitUntilReceived("")
        }

        public func append(_ event: ReplayEvent, to stream: String) async throws -> ReplayPosition {
            let standing = try await ask(.append(event, stream: stream)).standing
            return ReplayPosition(epoch: standing.epoch, sequence: standing.newest)
        }

        public func standing(of stream: String) async throws -> ReplayStanding {
            // Subscribed before the question, so that every append after the answer is noticed.
            await parts.subscriber.waitUntilReceived(stream)
            return try await ask(.standing(stream: stream)).standing
        }

        public func page(of stream: String, after position: ReplayPosition, limit: Int) async throws -> ReplayPage {
            await parts.subscriber.waitUntilReceived(stream)
            let answer = try await ask(.page(stream: stream, after: position, limit: limit))
            let standing = answer.standing
            guard position.epoch == standing.epoch, position.sequence <= standing.newest else {
                return .foreign(standing)
            }
            guard position.sequence + 1 >= standing.oldest else { return .gone(standing) }
            let isWhole = answer.entries.enumerated().allSatisfy { offset, entry in
                entry.sequence == position.sequence + 1 + UInt64(offset)
            }
            guard isWhole else { throw ReplayBufferError(.unavailable, "'\(stream)' lacks events in Redis") }
            return .entries(answer.entries, standing)
        }

        public func post(_ event: ReplayEvent, from sender: String, to stream: String) async throws -> Bool {
            try await change(.post(event, stream: stream))
        }

        public func enrol(_ mailbox: String, of user: String, max: Int) async throws -> Bool {
            try await change(.enrol(mailbox: mailbox, stream: Self.places(of: user), max: max))
        }

        public func remove(_ mailbox: String, of user: String) async throws {
            _ = try await change(.drop(stream: mailbox))
            _ = try await change(.leave(mailbox: mailbox, stream: Self.places(of: user)))
        }

        private static func places(of user: String) -> String { "user/" + user }

        /// Asks for a change. Returns false if the store or the mailbox is full.
        private func change(_ operation: ReplayScript.Operation) async throws -> Bool {
            try ReplayScript.values(try await parts.commands.ask(operation)) != nil
        }

        /// Returns notices of all streams. Each reader holds up to 4096; beyond that the oldest are dropped.
        public func notices() -> AsyncStream<ReplayNotice> {
            parts.subscriber.receiveAll()
            return parts.topic.subscribe()
        }

        public func notices(of streams: ServedStreams) -> AsyncStream<ReplayNotice> {
            parts.subscriber.receive(streams)
            return parts.topic.subscribe()
        }

        public func set(_ value: [UInt8], _ name: String, of stream: String) async throws -> Bool {
            try await change(.set(value, name: name, stream: stream))
        }

        public func values(_ names: [String]?, of stream: String) async throws -> [String: [UInt8]] {
            await parts.subscriber.waitUntilReceived(stream)
            return try ReplayScript.values(try await parts.commands.ask(.values(names, stream: stream))) ?? [:]
        }

        /// Passes at most 64 KiB on without waiting. Drops them if Redis can't be reached, or 1024 packets or 4 MiB wait.
        public func pass(_ bytes: [UInt8], to stream: String) async throws { parts.commands.pass(bytes, to: stream) }

        /// Returns changes of all mailboxes. Each reader holds up to 4096; beyond that the oldest are dropped.
        public func words() -> AsyncStream<MailboxWord> {
            parts.subscriber.receiveAll()
            return parts.words.subscribe()
        }

        public func words(of streams: ServedStreams) -> AsyncStream<MailboxWord> {
            parts.subscriber.receive(streams)
            return parts.words.subscribe()
        }

        /// The number of times that the connection for notices was lost. After each, the readers of served streams get
        /// `ReplayNotice.missed`.
        public var lostSubscriptionCount: UInt64 { parts.subscriber.lossCount }

        /// The number of messages on the channels of this store that this process couldn't read and has skipped. It grows if
        /// another program publishes there.
        public var skippedNoticeCount: UInt64 { parts.subscriber.skippedCount }

        private func ask(_ operation: ReplayScript.Operation) async throws -> ReplayScript.Answer {
            let value = try await parts.commands.ask(operation)
            guard let answer = ReplayScript.answer(value) else {
                throw ReplayBufferError(.unavailable, "unexpected answer from Redis")
            }
            return answer
        }
    }
#endif
