#if Redis
    import MeshBase
    import MeshRedisLab
    import MeshResumeGateway
    import Testing

    @testable import MeshRedisReplay

    /// Failovers that Redis Sentinel announces, with real servers.
    @Suite struct RedisSentinelTests {
        private let settings = RedisReplaySettings(timeout: .seconds(20))

        /// A master and its replica, and the Sentinel that watches them.
        private struct Watched {
            let master: RedisServer
            let replica: RedisServer
            let sentinel: RedisSentinelServer

            init() throws {
                (master, replica) = (try RedisServer(), try RedisServer())
                try replica.follow(master)
                sentinel = try RedisSentinelServer(of: master)
            }

            /// The first Sentinel of the list can't be reached.
            var address: RedisAddress {
                get throws { try RedisAddress("redis+sentinel://127.0.0.1:1,127.0.0.1:\(sentinel.port)/one") }
            }
        }

        @Test func `A failover is followed by questions and notices, with a new epoch`() async throws {
            let servers = try Watched()
            let buffer = try await RedisReplayBuffer.connect(to: servers.address, settings)
            let streams = ServedStreams()
            streams.add("s")
            var notices = buffer.notices(of: streams).makeAsyncIterator()
            let before = try await buffer.fill(1...3)
            _ = try await buffer.standing(of: "s")
            try servers.replica.hasCaughtUp(with: servers.master)
            try servers.sentinel.failOver(to: servers.replica)
            while await notices.next() != .missed(in: "s") {}
            var after = try await buffer.standingAtLast()
            // The former master may still be one until Sentinel demotes it.
            while after.epoch == before.epoch { after = try await buffer.standingAtLast() }
            let position = try await buffer.fill(4...4)
            #expect(position == .init(epoch: after.epoch, sequence: after.newest + 1))
            #expect(try servers.replica.command("HGET", "mesh:meta:s", "newest") == "\(position.sequence)")
            while let notice = await notices.next() { if notice.epoch == position.epoch { break } }
            guard case .foreign = try await buffer.page(of: "s", after: before, limit: 9) else {
                Issue.record("a cursor of before is taken for one of after")
                return
            }
        }

        @Test func `K23 and K20: two masters at once give no position twice, and refuse each other's`() async throws {
            let servers = try Watched()
            let (follower, fixed) = (
                try await RedisReplayBuffer.connect(to: servers.address, settings),
                try await RedisReplayBuffer.connect(to: servers.master.address, settings)
            )
            let before = try await follower.fill(1...3)
            #expect(try await fixed.fill(4...4) == .init(epoch: before.epoch, sequence: 4))
            try servers.replica.hasCaughtUp(with: servers.master)
            // The master is cut off while Sentinel replaces it, and Sentinel is gone when it comes back.
            servers.master.pause()
            try servers.sentinel.failOver(to: servers.replica)
            while follower.lostSubscriptionCount == 0 { await Task.yield() }
            var after = try await follower.standingAtLast()
            while after.epoch == before.epoch { after = try await follower.standingAtLast() }
            try servers.sentinel.command("SENTINEL", "REMOVE", "one")
            servers.master.resume()
            #expect(try servers.master.field("role") == "master")
            #expect(try servers.replica.field("role") == "master")
            let positions = try await withThrowingTaskGroup(of: ReplayPosition.self) { group in
                for number in 0..<100 {
                    group.addTask { try await (number % 2 == 0 ? follower : fixed).append(event(number), to: "s") }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(Set(positions).count == 100)
            #expect(Set(positions.map(\.epoch)) == [before.epoch, after.epoch])
            for (buffer, other) in [(follower, before.epoch), (fixed, after.epoch)] {
                for sequence in [1, 4, 50] as [UInt64] {
                    let page = try await buffer.page(of: "s", after: .init(epoch: other, sequence: sequence), limit: 9)
                    guard case .foreign = page else {
                        Issue.record("\(page) for a cursor of the other master")
                        return
                    }
                }
            }
            // The loser's events go with it, and no cursor of them is taken for one of the winner's.
            try servers.master.follow(servers.replica)
            await #expect(throws: ReplayBufferError.self) { try await fixed.append(event(1), to: "s") }
        }

        @Test func `Shards by Sentinel: a failover of one leaves the other's streams as they are`() async throws {
            let servers = try Watched()
            let other = try RedisServer()
            let shards = [try servers.address, try RedisAddress("unix://\(other.socket)#other")]
            let placement = ShardPlacement(shards.map(\.name))
            let streams = (0..<20).map { "user \($0)" }
            let moved = try #require(streams.first { placement.shard(of: $0) == 0 })
            let kept = try #require(streams.first { placement.shard(of: $0) == 1 })
            let buffer = try await RedisReplayBuffer.connect(to: shards, settings)
            let before = try await (buffer.fill(1...3, of: moved), buffer.fill(1...3, of: kept))
            try servers.sentinel.failOver(to: servers.replica)
            while try await buffer.standingAtLast(of: moved).epoch == before.0.epoch {}
            #expect(try await buffer.fill(4...4, of: kept) == .init(epoch: before.1.epoch, sequence: 4))
        }

        @Test func `A failover back to the first master is noticed, although its announcement was missed`() throws {
            let first = RedisAddress.Host(name: "10.0.0.1", port: 6379)
            var known = KnownMaster()
            var outcomes = [known.isReplaced(by: first)]
            let announced = RedisSentinel.announced(
                "one", Self.message("+switch-master", "one 10.0.0.1 6379 10.0.0.2 6380"))
            let second = try #require(announced)
            #expect(second == RedisAddress.Host(name: "10.0.0.2", port: 6380))
            outcomes.append(known.isReplaced(by: second))
            // The connection to Sentinel was lost, and Sentinel is asked again.
            outcomes += [known.isReplaced(by: first), known.isReplaced(by: first)]
            #expect(outcomes == [false, true, true, false])
        }

        @Test(arguments: [
            ("+switch-master", "two 10.0.0.1 6379 10.0.0.2 6380"), ("+sdown", "one 10.0.0.1 6379 10.0.0.2 6380"),
            ("+switch-master", "one 10.0.0.1 6379 10.0.0.2"), ("+switch-master", "one 10.0.0.1 6379 10.0.0.2 0"),
            ("+switch-master", "one 10.0.0.1 6379 10.0.0.2 65536"), ("+switch-master", ""),
        ])
        func `A message that announces no master of this name is ignored`(channel: String, text: String) {
            #expect(RedisSentinel.announced("one", Self.message(channel, text)) == nil)
        }

        private static func message(_ channel: String, _ text: String) -> RedisValue {
            .list(["message", channel, text].map { .text(Array($0.utf8)) })
        }

        @Test func `Without a Sentinel, or with one that knows no such master, a buffer can't begin`() async throws {
            let servers = try Watched()
            for url in ["redis+sentinel://127.0.0.1:1/one", "redis+sentinel://127.0.0.1:\(servers.sentinel.port)/two"] {
                await #expect(throws: ReplayBufferError.self) {
                    try await RedisReplayBuffer.connect(to: RedisAddress(url), settings)
                }
            }
        }
    }
#endif
