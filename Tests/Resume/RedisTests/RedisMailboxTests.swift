#if Redis
    import MeshBase
    import MeshRedisLab
    import MeshRedisReplay
    import MeshResumeGateway
    import Testing

    /// The mailbox state that a gateway stores in addition to streams, in Redis as in memory.
    @Suite struct RedisMailboxTests {
        /// Checks two stores that share their contents.
        private static func check(_ first: any MailboxStore, _ second: any MailboxStore) async throws {
            let everyByte = (0...255).map { UInt8($0) } + Array("\r\n".utf8)
            #expect(try await first.set(everyByte, "a", of: "s"))
            #expect(try await second.set([], "b", of: "s"))
            #expect(try await second.values(nil, of: "s") == ["a": everyByte, "b": []])
            #expect(try await first.values(["b", "none"], of: "s") == ["b": []])
            #expect(try await first.values(nil, of: "other") == [:])
            #expect(try await first.set([1], "a", of: "s"))
            #expect(try await second.values(["a"], of: "s") == ["a": [1]])
            // Each bound, and that a rejected write changes nothing.
            for number in 2..<MailboxBounds.valuesMax { _ = try await first.set([], "\(number)", of: "s") }
            #expect(try await first.set([], "one more", of: "s") == false)
            let large = [UInt8](repeating: 7, count: MailboxBounds.bytesMax)
            #expect(try await first.set(large, "a", of: "s"))
            #expect(try await first.set([1], "b", of: "s") == false)
            #expect(try await second.values(["b", "one more"], of: "s") == ["b": []])
            #expect(try await first.set([], "a", of: "s"))
            #expect(try await second.set([1], "b", of: "s"))
        }

        @Test func `Values are kept within their bounds, and seen by every process`() async throws {
            let server = try RedisServer()
            try await Self.check(
                try await RedisReplayBuffer.connect(to: server.address, .mailboxes()),
                try await RedisReplayBuffer.connect(to: server.address, .mailboxes()))
            let memory = MemoryMailboxStore()
            try await Self.check(memory, memory)
        }

        @Test func `Notices reach every process, separate from events and in causal order`() async throws {
            let server = try RedisServer()
            let first = try await RedisReplayBuffer.connect(to: server.address, .mailboxes())
            let second = try await RedisReplayBuffer.connect(to: server.address, .mailboxes())
            let (words, notices) = (second.words(), second.notices())
            _ = try await first.set([1], "name", of: "s")
            _ = try await first.append(event(1), to: "s")
            try await first.pass([0, 13, 10, 255], to: "t")
            var heard: [MailboxWord] = []
            for await word in words {
                heard.append(word)
                if heard.count == 2 { break }
            }
            #expect(heard == [.changed(name: "name", stream: "s"), .passed([0, 13, 10, 255], stream: "t")])
            for await notice in notices {
                #expect(notice.entry.sequence == 1 && notice.stream == "s")
                break
            }
        }

        @Test func `A store that has lost everything has no earlier values`() async throws {
            let server = try RedisServer()
            let store = try await RedisReplayBuffer.connect(to: server.address, .mailboxes())
            #expect(try await store.set([1], "name", of: "s"))
            let before = try await store.append(event(1), to: "s")
            try server.command("FLUSHALL")
            #expect(try await store.values(nil, of: "s") == [:])
            #expect(try await store.append(event(2), to: "s").epoch != before.epoch)
        }
    }
#endif
