#if Redis
    import MeshBase
    import MeshRedisLab
    import MeshRedisReplay
    import MeshResumeGateway
    import Testing

    @Suite struct RedisRulesTests {
        @Test(arguments: (ReplayBufferRules.all + MailboxStoreRules.all).map(\.id))
        func `The buffer on Redis keeps every rule, including K20 and K23`(id: String) async throws {
            let rule = try #require((ReplayBufferRules.all + MailboxStoreRules.all).first { $0.id == id })
            let server = try RedisServer()
            #expect(try await rule.examine { try await server.subject($0) } == nil)
        }

        @Test func `K23 two processes that append at once share one numbering, and each event has its own number`()
            async throws
        {
            let server = try RedisServer()
            let buffers = [
                try await RedisReplayBuffer.connect(to: server.address),
                try await RedisReplayBuffer.connect(to: server.address),
            ]
            let positions = try await appendAtOnce(buffers)
            #expect(Set(positions.map(\.epoch)).count == 1)
            #expect(positions.map(\.sequence).sorted() == Array(1...200))
            let all = ReplayPosition(epoch: positions[0].epoch, sequence: 0)
            guard case .entries(let entries, _) = try await buffers[0].page(of: "s", after: all, limit: 1000) else {
                Issue.record("no entries")
                return
            }
            #expect(entries.map(\.sequence) == Array(1...200))
            #expect(Set(entries.map(\.event)).count == 200)
        }

        @Test func `K23 processes that number events by a read value give a number twice`() async throws {
            let server = try RedisServer()
            let buffers = [
                ReadThenNumber(try await RedisReplayBuffer.connect(to: server.address)),
                ReadThenNumber(try await RedisReplayBuffer.connect(to: server.address)),
            ]
            let positions = try await appendAtOnce(buffers)
            #expect(Set(positions.map(\.sequence)).count < positions.count)
        }

        private func appendAtOnce(_ buffers: [any ReplayBuffer]) async throws -> [ReplayPosition] {
            try await withThrowingTaskGroup(of: ReplayPosition.self) { group in
                for number in 0..<200 {
                    group.addTask { try await buffers[number % buffers.count].append(event(number), to: "s") }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
        }

        @Test func `A Redis without the script gets it again, and nothing is done twice`() async throws {
            let server = try RedisServer()
            let buffer = try await RedisReplayBuffer.connect(to: server.address)
            let first = try await buffer.fill(1...3)
            try server.command("SCRIPT", "FLUSH")
            #expect(try await buffer.fill(4...6) == ReplayPosition(epoch: first.epoch, sequence: 6))
        }

        @Test func `Notices come once and in order, however many streams there are`() async throws {
            let server = try RedisServer()
            let publisher = try await RedisReplayBuffer.connect(to: server.address)
            let reader = try await RedisReplayBuffer.connect(to: server.address)
            var notices = reader.notices().makeAsyncIterator()
            for number in 0..<300 { _ = try await publisher.append(event(number), to: "user \(number % 50)") }
            for number in 0..<300 {
                let notice = await notices.next()
                #expect(notice?.stream == "user \(number % 50)")
                #expect(try notice?.entry.event == event(number))
            }
            _ = try await reader.standing(of: "user 1")
            let connections = try server.command("CLIENT", "LIST").split(whereSeparator: \.isNewline)
                .filter { !$0.contains("cmd=client") }
            #expect(connections.count == 4, "two processes, each with one connection for questions and one for notices")
        }

        @Test func `A reader of all notices still gets them after another reader has named its streams`() async throws {
            let server = try RedisServer()
            let publisher = try await RedisReplayBuffer.connect(to: server.address)
            let reader = try await RedisReplayBuffer.connect(to: server.address)
            var notices = reader.notices().makeAsyncIterator()
            let streams = ServedStreams()
            _ = reader.notices(of: streams)
            streams.add("served")
            // Returns when the subscriptions are as the readers want them.
            _ = try await reader.standing(of: "served")
            for stream in ["other", "served"] { try await publisher.fill(1...1, of: stream) }
            #expect(await notices.next()?.stream == "other")
        }

        @Test func `A common append takes eight commands, and an evicted stream starts again with an expiry time`()
            async throws
        {
            let server = try RedisServer()
            let buffer = try await RedisReplayBuffer.connect(to: server.address)
            try await buffer.fill(1...2)
            try server.command("CONFIG", "RESETSTAT")
            try await buffer.fill(3...102)
            let calls = Dictionary(
                uniqueKeysWithValues: try server.command("INFO", "commandstats").matches(
                    of: /cmdstat_(\S+):calls=(\d+)/
                )
                .map { (String($0.1), Int($0.2) ?? 0) })
            let expected = ["info": 100, "time": 100, "hmget": 200, "xadd": 100, "hset": 200, "publish": 100]
            for (name, count) in expected { #expect(calls[name] == count, "\(name)") }
            for name in ["xlen", "xrange", "xtrim", "pexpire", "exists"] { #expect(calls[name] == nil, "\(name)") }
            try server.command("DEL", "mesh:events:s")
            #expect(try await buffer.fill(103...103).sequence == 103)
            #expect(try Int(server.command("PTTL", "mesh:events:s")) ?? 0 > 0)
            #expect(try await buffer.standing(of: "s").oldest == 103)
        }

        @Test(arguments: [
            "http://localhost", "redis://", "redis://h:0", "redis://h:70000", "redis://h/x", "redis://h/-1", "unix:x",
            "",
        ])
        func `A URL that isn't a Redis address is refused`(url: String) {
            #expect(throws: ReplayBufferError.self) { try RedisAddress(url) }
        }

        @Test func `An address's description has the host, not the password`() throws {
            #expect(try RedisAddress("redis://:secret@h/3").description == "redis://h:6379/3")
            #expect(try RedisAddress("redis://[::1]:7000").description == "redis://::1:7000/0")
            #expect(try RedisAddress("unix:///run/redis?db=2").description == "unix:///run/redis?db=2")
        }

        @Test func `A password and a database of its own are used`() async throws {
            let server = try RedisServer()
            try server.command("CONFIG", "SET", "requirepass", "secret")
            let address = try RedisAddress("redis://:secret@127.0.0.1:\(server.port)/3")
            let buffer = try await RedisReplayBuffer.connect(to: address)
            #expect(try await buffer.fill(1...2).sequence == 2)
            #expect(try RedisAddress("redis://:other@127.0.0.1:\(server.port)/3", password: "secret") == address)
            await #expect(throws: ReplayBufferError.self) {
                try await RedisReplayBuffer.connect(to: RedisAddress("redis://:wrong@127.0.0.1:\(server.port)"))
            }
        }
    }

    /// A buffer that does in two steps what the store should do in one.
    private struct ReadThenNumber: ReplayBuffer {
        private let whole: RedisReplayBuffer

        init(_ whole: RedisReplayBuffer) { self.whole = whole }

        func append(_ event: ReplayEvent, to stream: String) async throws -> ReplayPosition {
            let standing = try await whole.standing(of: stream)
            _ = try await whole.append(event, to: stream)
            return ReplayPosition(epoch: standing.epoch, sequence: standing.newest + 1)
        }
        func standing(of stream: String) async throws -> ReplayStanding { try await whole.standing(of: stream) }
        func page(of stream: String, after position: ReplayPosition, limit: Int) async throws -> ReplayPage {
            try await whole.page(of: stream, after: position, limit: limit)
        }
        func notices() -> AsyncStream<ReplayNotice> { whole.notices() }
    }
#endif
