#if Redis
    import MeshBase
    import MeshRedisLab
    import MeshResumeGateway
    import Testing

    @testable import MeshRedisReplay

    /// Several masters at once, each with its own streams (Docs/Server/ResumeServer.md).
    @Suite struct RedisShardTests {
        private let settings = RedisReplaySettings(timeout: .seconds(3600))

        /// Some servers, of which a buffer may use the first ones.
        private struct Shards {
            let servers: [RedisServer]
            let streams = (0..<60).map { "user \($0)" }

            init(_ count: Int) throws { servers = try (0..<count).map { _ in try RedisServer() } }

            func addresses(_ indexes: Range<Int>) throws -> [RedisAddress] {
                // A name that doesn't change from one run to the next, unlike the path.
                try indexes.map { try RedisAddress("unix://\(servers[$0].socket)#shard-\($0)") }
            }

            func connect(_ indexes: Range<Int>, _ settings: RedisReplaySettings) async throws -> RedisReplayBuffer {
                try await RedisReplayBuffer.connect(to: addresses(indexes), settings)
            }

            /// Returns the index of a stream's server.
            func place(_ stream: String, among indexes: Range<Int>) throws -> Int {
                try indexes.lowerBound
                    + ShardPlacement(addresses(indexes).map(\.name)).shard(of: stream)
            }

            /// Returns a stream on that server.
            func stream(on index: Int, among indexes: Range<Int>) throws -> String {
                try #require(try streams.first { try place($0, among: indexes) == index })
            }
        }

        private func code(_ body: () async throws -> some Sendable) async -> ReplayBufferError.Code? {
            do { _ = try await body() } catch { return (error as? ReplayBufferError)?.code }
            return nil
        }

        private func isForeign(
            _ position: ReplayPosition, of stream: String, in buffer: RedisReplayBuffer
        ) async throws -> Bool {
            if case .foreign = try await buffer.page(of: stream, after: position, limit: 99) { true } else { false }
        }

        @Test(arguments: (ReplayBufferRules.all + MailboxStoreRules.all).map(\.id))
        func `A buffer on three masters keeps every rule, and K20 and K23 among them`(id: String) async throws {
            let rule = try #require((ReplayBufferRules.all + MailboxStoreRules.all).first { $0.id == id })
            let servers = try (0..<3).map { _ in try RedisServer() }
            #expect(try await rule.examine { try await RedisServer.subject(of: servers, $0) } == nil)
        }

        @Test func `A stream has its keys on one shard, and each shard its share of the streams`() async throws {
            let shards = try Shards(3)
            let buffer = try await shards.connect(0..<3, settings)
            for stream in shards.streams { try await buffer.fill(1...2, of: stream) }
            for (index, server) in shards.servers.enumerated() {
                let expected = try shards.streams.filter { try shards.place($0, among: 0..<3) == index }
                let keys = try server.command("KEYS", "mesh:events:*").split(whereSeparator: \.isNewline)
                #expect(!expected.isEmpty)
                #expect(keys.map { String($0.dropFirst("mesh:events:".count)) }.sorted() == expected.sorted())
            }
        }

        @Test func `Notices of served streams come from every shard, and other shards aren't asked for them`()
            async throws
        {
            let shards = try Shards(3)
            let reader = try await shards.connect(0..<3, settings)
            let publisher = try await shards.connect(0..<3, settings)
            let streams = ServedStreams()
            var notices = reader.notices(of: streams).makeAsyncIterator()
            for index in 0..<3 {
                let stream = try shards.stream(on: index, among: 0..<3)
                streams.add(stream)
                _ = try await reader.standing(of: stream)
                try await publisher.fill(1...1, of: stream)
                #expect(await notices.next()?.stream == stream)
                let channels = try shards.servers[index].command("PUBSUB", "CHANNELS")
                #expect(channels == "mesh:0:notices:\(stream)")
            }
        }

        @Test func `A shard that is down fails its own streams at once, and the others go on`() async throws {
            let shards = try Shards(2)
            let buffer = try await shards.connect(0..<2, settings)
            let (dead, living) = (try shards.stream(on: 0, among: 0..<2), try shards.stream(on: 1, among: 0..<2))
            let streams = ServedStreams()
            var notices = buffer.notices(of: streams).makeAsyncIterator()
            for stream in [dead, living] {
                streams.add(stream)
                _ = try await buffer.standing(of: stream)
                try await buffer.fill(1...1, of: stream)
            }
            while await notices.next()?.stream != living {}
            shards.servers[0].kill()
            // As many would take an hour if each waited for the next attempt to connect.
            for number in 0..<5000 {
                #expect(await code { try await buffer.append(event(number), to: dead) } == .unavailable)
                #expect(await code { try await buffer.standing(of: dead) } == .unavailable)
            }
            #expect(await code { try await buffer.values(nil, of: dead) } == .unavailable)
            #expect(try await buffer.fill(2...2, of: living).sequence == 2)
            #expect(await notices.next()?.entry.sequence == 2)
            #expect(try await buffer.set([1], "name", of: living))
            #expect(try await buffer.values(nil, of: living) == ["name": [1]])
            // A process that starts meanwhile serves the others, too.
            let late = try await shards.connect(0..<2, settings)
            #expect(try await late.fill(3...3, of: living).sequence == 3)
            #expect(await code { try await late.append(event(1), to: dead) } == .unavailable)
        }

        @Test func `A shard that comes back empty has new epochs, and the others' streams continue`() async throws {
            let shards = try Shards(2)
            let buffer = try await shards.connect(0..<2, settings)
            let (lost, kept) = (try shards.stream(on: 0, among: 0..<2), try shards.stream(on: 1, among: 0..<2))
            let streams = ServedStreams()
            var notices = buffer.notices(of: streams).makeAsyncIterator()
            for stream in [lost, kept] { streams.add(stream) }
            let before = try await [buffer.fill(1...3, of: lost), buffer.fill(1...3, of: kept)]
            _ = try await buffer.standing(of: lost)
            shards.servers[0].kill()
            try shards.servers[0].start()
            #expect(try await buffer.standingAtLast(of: lost).newest == 0)
            #expect(try await isForeign(before[0], of: lost, in: buffer))
            #expect(try await buffer.fill(4...4, of: kept) == .init(epoch: before[1].epoch, sequence: 4))
            while await notices.next() != .missed(in: lost) {}
        }

        @Test func `A new shard takes its share with new epochs, and the other streams continue`() async throws {
            let shards = try Shards(3)
            let before = try await shards.connect(0..<2, settings)
            var positions: [String: ReplayPosition] = [:]
            for stream in shards.streams { positions[stream] = try await before.fill(1...2, of: stream) }
            let after = try await shards.connect(0..<3, settings)
            for stream in shards.streams {
                let position = try #require(positions[stream])
                if try shards.place(stream, among: 0..<3) == 2 {
                    #expect(try await isForeign(position, of: stream, in: after))
                    #expect(try await after.fill(3...3, of: stream).sequence == 1)
                } else {
                    #expect(try await after.fill(3...3, of: stream) == .init(epoch: position.epoch, sequence: 3))
                }
            }
        }

        @Test func `K23 a process that lists other shards than the newest is refused, and does nothing`() async throws {
            let shards = try Shards(3)
            let before = try await shards.connect(0..<2, settings)
            let moved = try #require(try shards.streams.first { try shards.place($0, among: 0..<3) == 2 })
            let kept = try #require(try shards.streams.first { try shards.place($0, among: 0..<3) == 0 })
            for stream in [moved, kept] { try await before.fill(1...2, of: stream) }
            let after = try await shards.connect(0..<3, settings)
            for stream in [moved, kept] {
                #expect(await code { try await before.append(event(3), to: stream) } == .otherShards)
                #expect(await code { try await before.standing(of: stream) } == .otherShards)
                #expect(await code { try await before.enrol("m", of: stream, max: 1) } == .otherShards)
            }
            #expect(try await after.fill(3...3, of: kept).sequence == 3)
            let place = try shards.place(moved, among: 0..<2)
            #expect(try shards.servers[place].command("XLEN", "mesh:events:\(moved)") == "2")
        }

        @Test func `K20 a stream that was elsewhere has a new epoch where its earlier events still are`() async throws {
            let shards = try Shards(3)
            let moved = try #require(try shards.streams.first { try shards.place($0, among: 0..<3) == 2 })
            let kept = try #require(try shards.streams.first { try shards.place($0, among: 0..<3) == 0 })
            let first = try await shards.connect(0..<2, settings)
            let before = try await (first.fill(1...3, of: moved), first.fill(1...3, of: kept))
            let second = try await shards.connect(0..<3, settings)
            let between = try await (second.fill(4...5, of: moved), second.fill(4...5, of: kept))
            let third = try await shards.connect(0..<2, settings)
            let after = try await (third.fill(6...6, of: moved), third.fill(6...6, of: kept))
            #expect(Set([before.0, between.0, after.0].map(\.epoch)).count == 3)
            #expect(try await isForeign(before.0, of: moved, in: third))
            #expect(Set([before.1, between.1, after.1].map(\.epoch)).count == 1)
            #expect(after.1.sequence == 6)
        }

        @Test func `Without the note of the list, a stream that was elsewhere gives numbers a second time`()
            async throws
        {
            let shards = try Shards(3)
            let moved = try #require(try shards.streams.first { try shards.place($0, among: 0..<3) == 2 })
            let place = try shards.place(moved, among: 0..<2)
            let before = try await shards.connect(0..<2, settings).fill(1...3, of: moved)
            try await shards.connect(0..<3, settings).fill(4...5, of: moved)
            let third = try await shards.connect(0..<2, settings)
            // As if the stream had been used here under the list between.
            let list = try shards.servers[place].command("HGET", "mesh:home", "before")
            try shards.servers[place].command("HSET", "mesh:meta:\(moved)", "list", list)
            #expect(try await third.fill(6...6, of: moved) == .init(epoch: before.epoch, sequence: 4))
        }

        @Test func `A process goes on when others begin with its list anew`() async throws {
            let shards = try Shards(3)
            let stream = try #require(try shards.streams.first { try shards.place($0, among: 0..<3) == 0 })
            let first = try await shards.connect(0..<3, settings)
            let position = try await first.fill(1...1, of: stream)
            let other = try await shards.connect(0..<2, settings)
            #expect(try await other.fill(2...2, of: stream).sequence == 2)
            #expect(await code { try await first.append(event(3), to: stream) } == .otherShards)
            _ = try await shards.connect(0..<3, settings)
            #expect(try await first.fill(3...3, of: stream) == .init(epoch: position.epoch, sequence: 3))
            #expect(await code { try await other.append(event(4), to: stream) } == .otherShards)
        }

        @Test func `A new list needs every shard, and the known one any`() async throws {
            let shards = try Shards(3)
            let first = try await shards.connect(0..<2, settings)
            let kept = try #require(try shards.streams.first { try shards.place($0, among: 0..<2) == 0 })
            try await first.fill(1...1, of: kept)
            shards.servers[1].kill()
            #expect(await code { try await shards.connect(0..<3, settings) } == .unavailable)
            #expect(try await first.fill(2...2, of: kept).sequence == 2)
            #expect(try await shards.connect(0..<2, settings).fill(3...3, of: kept).sequence == 3)
            // A shard that won't come back is left out of the list.
            let left = try await shards.connect(0..<1, settings)
            #expect(try await left.fill(4...4, of: kept).sequence == 4)
            shards.servers[0].kill()
            #expect(await code { try await shards.connect(0..<2, settings) } == .unavailable)
        }

        @Test func `Streams of a gateway before shards continue, on one Redis and when a second one is added`()
            async throws
        {
            let shards = try Shards(2)
            let before = try await shards.connect(0..<1, settings)
            let kept = try #require(try shards.streams.first { try shards.place($0, among: 0..<2) == 0 })
            let position = try await before.fill(1...2, of: kept)
            // Gateways before this version know no list.
            try shards.servers[0].command("HDEL", "mesh:home", "list", "before", "names")
            try shards.servers[0].command("HDEL", "mesh:meta:\(kept)", "list")
            let updated = try await shards.connect(0..<1, settings)
            #expect(try await updated.fill(3...3, of: kept) == .init(epoch: position.epoch, sequence: 3))
            let two = try await shards.connect(0..<2, settings)
            #expect(try await two.fill(4...4, of: kept) == .init(epoch: position.epoch, sequence: 4))
        }

        @Test func `One Redis may be reached by several addresses`() async throws {
            let server = try RedisServer()
            let first = try await RedisReplayBuffer.connect(to: server.address, settings)
            let second = try await RedisReplayBuffer.connect(
                to: RedisAddress("redis://127.0.0.1:\(server.port)"), settings)
            #expect(try await first.fill(1...1).epoch == second.fill(2...2).epoch)
        }

        @Test func `A list of no shard, of one twice, or of too many is refused`() async throws {
            let address = try RedisAddress("redis://127.0.0.1:1")
            let many = try (1...65).map { try RedisAddress("redis://127.0.0.1:\($0)") }
            for list in [[], [address, address], many] {
                #expect(await code { try await RedisReplayBuffer.connect(to: list, settings) } == .invalidAddress)
            }
        }
    }
#endif
