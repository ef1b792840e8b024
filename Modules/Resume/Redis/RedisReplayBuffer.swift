#if Redis
    internal import Foundation
    import MeshBase
    public import MeshResumeGateway

    /// A gateway's streams in Redis Streams (Redis 6.2 or newer), shared by all processes that use the same servers, databases
    /// and prefix.
    ///
    /// **Shards.** Streams are placed on several masters by their names (`ShardPlacement`). Each is a store of its own, with its
    /// own fence, so one that is down affects only the streams on it. Redis Cluster can't be used: each step reads and writes
    /// a key of its whole store together with the stream's, and a cluster moves streams between masters by itself.
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
    /// does) receives only their notices, unless it also reads those of all streams (`notices()`). After a lost connection each
    /// served stream gets a `ReplayNotice.missed`.
    ///
    /// **Threads.** The buffer has two threads per shard, each with a connection: one for questions in batches, one for
    /// notices. With Sentinel, a third thread watches for failovers. No call blocks Swift's thread pool. Copies of one
    /// buffer share the threads, which end with the last copy.
    ///
    /// An append that throws `unavailable` may have happened, and the buffer doesn't repeat it. Cancellation has no effect: every
    /// call ends within a few times `RedisReplaySettings.timeout`.
    public struct RedisReplayBuffer: MailboxStore {
        /// Maximum number of shards of a buffer.
        public static let shardsMax = 64

        private final class Parts: Sendable {
            let shards: [RedisShard]
            let placement: ShardPlacement
            let list: Locked<ShardList>
            let topic = Topic<ReplayNotice>(bufferLimit: 4096)
            let words = Topic<MailboxWord>(bufferLimit: 4096)

            init(
                _ addresses: [RedisAddress], _ settings: RedisReplaySettings, _ skew: @escaping @Sendable () -> Duration
            ) throws(ReplayBufferError) {
                placement = ShardPlacement(addresses.map(\.name))
                list = Locked(ShardList(digest: placement.digest))
                var shards: [RedisShard] = []
                for address in addresses {
                    let script = ReplayScript(settings: settings, database: address.database, list: list, skew: skew)
                    do throws(ReplayBufferError) { shards.append(try RedisShard(address, script, topic, words)) } catch
                    {
                        for shard in shards { shard.close() }
                        throw error
                    }
                }
                self.shards = shards
            }

            deinit { for shard in shards { shard.close() } }

            func shard(of stream: String) -> RedisShard { shards[placement.shard(of: stream)] }
        }

        private let parts: Parts

        /// Connects to a Redis server. If the connection is lost later, the buffer reconnects by itself.
        ///
        /// - Throws: `ReplayBufferError.Code.unavailable`, also if the server is a replica.
        public static func connect(
            to address: RedisAddress, _ settings: RedisReplaySettings = RedisReplaySettings()
        ) async throws(ReplayBufferError) -> RedisReplayBuffer {
            try await connect(to: [address], settings)
        }

        /// Connects to several masters, on which the streams are placed by their names.
        ///
        /// All processes must list the same shards, in any order. A process with a different list replaces the list in
        /// use. Earlier processes then throw `otherShards` until they are restarted. A stream that moves to another
        /// shard gets a new epoch.
        ///
        /// - Parameter shards: 1 to `shardsMax`, with different names. If the list differs from the one in use, all
        ///   shards must answer. Otherwise, a shard that is down affects only its own streams.
        /// - Throws: `ReplayBufferError` with `invalidAddress`, `unavailable`, or `otherShards` if another process replaces the list
        ///   at the same time.
        public static func connect(
            to shards: [RedisAddress], _ settings: RedisReplaySettings = RedisReplaySettings()
        ) async throws(ReplayBufferError) -> RedisReplayBuffer {
            try await connect(to: shards, settings, skew: { .zero })
        }

        /// Connects with a shifted clock, for tests. `skew` is the time by which the store's clock is ahead.
        package static func connect(
            to shards: [RedisAddress], _ settings: RedisReplaySettings, skew: @escaping @Sendable () -> Duration
        ) async throws(ReplayBufferError) -> RedisReplayBuffer {
            guard (1...shardsMax).contains(shards.count), Set(shards.map(\.name)).count == shards.count else {
                throw ReplayBufferError(
                    .invalidAddress, "a buffer has 1 to \(shardsMax) shards with different names, not \(shards.count)")
            }
            let buffer = RedisReplayBuffer(parts: try Parts(shards, settings, skew))
            try await buffer.join()
            return buffer
        }

        private init(parts: Parts) { self.parts = parts }

        /// Adopts the list in use if it has the same shards. Otherwise begins a new list.
        private func join() async throws(ReplayBufferError) {
            let digest = parts.placement.digest
            let (lists, failure) = await askAll(.list)
            let known = lists.values.compactMap { ShardList($0) }
            guard let newest = known.max(by: { $0.id < $1.id }) else {
                throw failure ?? ReplayBufferError(.unavailable, "unexpected answer from Redis")
            }
            if newest.id > 0, newest.digest == digest {
                parts.list.withLock { $0 = newest }
            } else if let failure {
                throw ReplayBufferError(
                    .unavailable, "the list of shards is new, so that all must answer", cause: failure)
            } else {
                let seconds = Date().timeIntervalSince1970
                let list = newest.next(digest, seconds: seconds, random: .random(in: 0 ... .max))
                parts.list.withLock { $0 = list }
            }
            // Sends the list to each shard, which refuses processes with an earlier list from now on.
            let (told, refusal) = await askAll(.tail, of: lists.keys.sorted())
            if let refusal { throw refusal }
            for index in told.keys { await parts.shards[index].subscriber.waitUntilReceived("") }
        }

        /// Asks all shards at once. Returns the answers by the shard's index, and the error of a shard that didn't
        /// answer.
        private func askAll(
            _ operation: ReplayScript.Operation, of indexes: [Int]? = nil
        ) async -> (answers: [Int: RedisValue], failure: ReplayBufferError?) {
            await withTaskGroup(of: (Int, Result<RedisValue, ReplayBufferError>).self) { group in
                for index in indexes ?? Array(parts.shards.indices) {
                    group.addTask { [commands = parts.shards[index].commands] in
                        do throws(ReplayBufferError) {
                            return (index, .success(try await commands.ask(operation)))
                        } catch { return (index, .failure(error)) }
                    }
                }
                return await group.reduce(into: ([:], nil)) { all, answer in
                    switch answer.1 {
                    case .success(let value): all.answers[answer.0] = value
                    case .failure(let error): all.failure = error
                    }
                }
            }
        }

        public func append(_ event: ReplayEvent, to stream: String) async throws -> ReplayPosition {
            let standing = try await ask(.append(event, stream: stream), of: stream).standing
            return ReplayPosition(epoch: standing.epoch, sequence: standing.newest)
        }

        public func standing(of stream: String) async throws -> ReplayStanding {
            try await parts.shard(of: stream).waitUntilReceived(stream)
            return try await ask(.standing(stream: stream), of: stream).standing
        }

        public func page(of stream: String, after position: ReplayPosition, limit: Int) async throws -> ReplayPage {
            try await parts.shard(of: stream).waitUntilReceived(stream)
            let answer = try await ask(.page(stream: stream, after: position, limit: limit), of: stream)
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
            try await change(.post(event, stream: stream), of: stream)
        }

        public func enrol(_ mailbox: String, of user: String, max: Int) async throws -> Bool {
            let places = Self.places(of: user)
            return try await change(.enrol(mailbox: mailbox, stream: places, max: max), of: places)
        }

        public func remove(_ mailbox: String, of user: String) async throws {
            // Two steps, perhaps on two shards. If the second one fails, both may be repeated.
            _ = try await change(.drop(stream: mailbox), of: mailbox)
            let places = Self.places(of: user)
            _ = try await change(.leave(mailbox: mailbox, stream: places), of: places)
        }

        private static func places(of user: String) -> String { "user/" + user }

        /// Asks for a change. Returns false if the store or the mailbox is full.
        private func change(_ operation: ReplayScript.Operation, of stream: String) async throws -> Bool {
            try ReplayScript.values(try await parts.shard(of: stream).commands.ask(operation)) != nil
        }

        /// Returns notices of all streams. Each reader holds up to 4096; beyond that the oldest are dropped.
        public func notices() -> AsyncStream<ReplayNotice> {
            for shard in parts.shards { shard.subscriber.receiveAll() }
            return parts.topic.subscribe()
        }

        public func notices(of streams: ServedStreams) -> AsyncStream<ReplayNotice> {
            receive(streams)
            return parts.topic.subscribe()
        }

        /// Receives only the served streams from now on, unless an earlier reader wants all.
        private func receive(_ streams: ServedStreams) {
            for shard in parts.shards { shard.subscriber.receiveServed() }
            streams.observe { [weak parts] stream, isServed in
                parts?.shard(of: stream).subscriber.serve(stream, isServed)
            }
        }

        public func set(_ value: [UInt8], _ name: String, of stream: String) async throws -> Bool {
            try await change(.set(value, name: name, stream: stream), of: stream)
        }

        public func values(_ names: [String]?, of stream: String) async throws -> [String: [UInt8]] {
            let shard = parts.shard(of: stream)
            try await shard.waitUntilReceived(stream)
            return try ReplayScript.values(try await shard.commands.ask(.values(names, stream: stream))) ?? [:]
        }

        /// Queues the bytes, at most 64 KiB, and returns at once. Drops them if Redis can't be reached, or if 1024
        /// packets or 4 MiB already wait.
        public func pass(_ bytes: [UInt8], to stream: String) async throws {
            parts.shard(of: stream).commands.pass(bytes, to: stream)
        }

        /// Returns changes of all mailboxes. Each reader holds up to 4096; beyond that the oldest are dropped.
        public func words() -> AsyncStream<MailboxWord> {
            for shard in parts.shards { shard.subscriber.receiveAll() }
            return parts.words.subscribe()
        }

        public func words(of streams: ServedStreams) -> AsyncStream<MailboxWord> {
            receive(streams)
            return parts.words.subscribe()
        }

        /// The number of times that a connection for notices was lost. After each, the readers of served streams get
        /// `ReplayNotice.missed`.
        public var lostSubscriptionCount: UInt64 {
            parts.shards.reduce(0) { $0 + $1.subscriber.lossCount }
        }

        /// The number of messages on the channels of this store that this process couldn't read and has skipped. It grows if
        /// another program publishes there.
        public var skippedNoticeCount: UInt64 {
            parts.shards.reduce(0) { $0 + $1.subscriber.skippedCount }
        }

        private func ask(_ operation: ReplayScript.Operation, of stream: String) async throws -> ReplayScript.Answer {
            let value = try await parts.shard(of: stream).commands.ask(operation)
            guard let answer = ReplayScript.answer(value) else {
                throw ReplayBufferError(.unavailable, "unexpected answer from Redis")
            }
            return answer
        }
    }
#endif
