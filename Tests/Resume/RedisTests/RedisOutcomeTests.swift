#if Redis
    import MeshBase
    import MeshRedisLab
    import MeshRedisReplay
    import MeshResumeGateway
    import Testing

    /// The fate of streams when Redis is down, slow, empty or replaced (Docs/Server/ResumeServer.md).
    @Suite struct RedisOutcomeTests {
        private let settings = RedisReplaySettings(timeout: .milliseconds(1500))
        /// Settings with which no connection is given up, however busy the machine is.
        private let patient = RedisReplaySettings(timeout: .seconds(3600))

        private func fails(_ body: () async throws -> some Sendable) async -> Bool {
            do { _ = try await body() } catch { return (error as? ReplayBufferError)?.code == .unavailable }
            return false
        }

        private func isForeign(_ position: ReplayPosition, in buffer: RedisReplayBuffer) async throws -> Bool {
            if case .foreign = try await buffer.page(of: "s", after: position, limit: 99) { true } else { false }
        }

        @Test func `Down: every call throws, and a buffer cannot begin`() async throws {
            let server = try RedisServer()
            let buffer = try await RedisReplayBuffer.connect(to: server.address, settings)
            try await buffer.fill(1...2)
            server.kill()
            #expect(await fails { try await buffer.append(event(3), to: "s") })
            #expect(await fails { try await buffer.standing(of: "s") })
            #expect(await fails { try await RedisReplayBuffer.connect(to: server.address, settings) })
        }

        @Test func `Slow: an unanswered call throws, may have succeeded, and leaves no gap`() async throws {
            let server = try RedisServer()
            let buffer = try await RedisReplayBuffer.connect(to: server.address, settings)
            let before = try await buffer.fill(1...2)
            server.pause()
            #expect(await fails { try await buffer.append(event(3), to: "s") })
            server.resume()
            let standing = try await buffer.standingAtLast()
            #expect(standing.epoch == before.epoch)
            #expect([2, 3].contains(standing.newest))
            #expect(try await buffer.fill(4...4) == .init(epoch: before.epoch, sequence: standing.newest + 1))
        }

        @Test func `Slow: the number of waiting calls is bounded`() async throws {
            let server = try RedisServer()
            var patient = settings
            // No waiting call times out here, however busy the machine is.
            patient.timeout = .seconds(3600)
            let buffer = try await RedisReplayBuffer.connect(to: server.address, patient)
            try await buffer.fill(1...1)
            server.pause()
            defer { server.resume() }
            let count = 10_000
            let refusals = Locked(0)
            await withTaskGroup(of: Void.self) { group in
                for number in 0..<count {
                    group.addTask {
                        do { _ = try await buffer.append(event(number), to: "s") } catch {
                            if "\(error)".contains("already waiting") { refusals.withLock { $0 += 1 } }
                        }
                    }
                }
                // One batch of at most 4096 is in progress while as many wait.
                while refusals.withLock({ $0 }) < count - 2 * 4096 { await Task.yield() }
                server.resume()
            }
            #expect((count - 2 * 4096...count - 4096).contains(refusals.withLock { $0 }))
        }

        @Test func `Restarted and empty: another epoch, old cursors are rejected, and notices continue`() async throws {
            let server = try RedisServer()
            let buffer = try await RedisReplayBuffer.connect(to: server.address, settings)
            let before = try await buffer.fill(1...3)
            server.kill()
            try server.start()
            var notices = buffer.notices().makeAsyncIterator()
            // The answer arrives after the subscription.
            let standing = try await buffer.standingAtLast()
            #expect(standing.epoch != before.epoch)
            #expect(standing.newest == 0)
            let after = try await buffer.fill(1...5)
            #expect(after == .init(epoch: standing.epoch, sequence: 5))
            #expect(try await isForeign(before, in: buffer))
            for number in 1...5 as ClosedRange<UInt64> {
                let notice = await notices.next()
                #expect(notice?.epoch == after.epoch)
                #expect(notice?.entry.sequence == number)
            }
        }

        @Test(arguments: [RedisServer.Persistence.everySecond, .always])
        func `Restarted with its file: still another epoch`(
            persistence: RedisServer.Persistence
        ) async throws {
            let server = try RedisServer(persistence)
            let buffer = try await RedisReplayBuffer.connect(to: server.address, settings)
            let before = try await buffer.fill(1...3)
            server.kill()
            try server.start()
            #expect(try await buffer.standingAtLast().epoch != before.epoch)
            #expect(try await isForeign(before, in: buffer))
        }

        @Test func `Restarted with every write in its file, if configured so: streams continue`() async throws {
            var settings = settings
            settings.restart = .continues
            let server = try RedisServer(.always)
            let buffer = try await RedisReplayBuffer.connect(to: server.address, settings)
            let before = try await buffer.fill(1...3)
            server.kill()
            try server.start()
            let standing = try await buffer.standingAtLast()
            #expect(standing == ReplayStanding(epoch: before.epoch, oldest: 1, newest: 3))
            #expect(try await buffer.fill(4...4) == .init(epoch: before.epoch, sequence: 4))
        }

        @Test func `Restarted without its file, although configured to continue: another epoch`() async throws {
            var settings = settings
            settings.restart = .continues
            let server = try RedisServer()
            let buffer = try await RedisReplayBuffer.connect(to: server.address, settings)
            let before = try await buffer.fill(1...3)
            server.kill()
            try server.start()
            #expect(try await buffer.standingAtLast().epoch != before.epoch)
        }

        @Test func `Emptied while it runs: another epoch, and notices continue`() async throws {
            let server = try RedisServer()
            let buffer = try await RedisReplayBuffer.connect(to: server.address, settings)
            let before = try await buffer.fill(1...3)
            try server.command("FLUSHALL")
            var notices = buffer.notices().makeAsyncIterator()
            let after = try await buffer.fill(1...2)
            #expect(after.epoch != before.epoch)
            #expect(try await isForeign(before, in: buffer))
            #expect(await notices.next()?.entry.sequence == 1)
            #expect(await notices.next()?.entry.sequence == 2)
        }

        @Test func `Evicted events are gone, and no number is given twice`() async throws {
            let server = try RedisServer()
            let buffer = try await RedisReplayBuffer.connect(to: server.address, settings)
            let before = try await buffer.fill(1...3)
            try server.command("DEL", "mesh:events:s")
            let standing = try await buffer.standing(of: "s")
            #expect(standing == ReplayStanding(epoch: before.epoch, oldest: 4, newest: 3))
            #expect(try await buffer.fill(4...4) == .init(epoch: before.epoch, sequence: 4))
        }

        @Test func `A lost subscription is renewed, and its streams are notified of a possible gap`()
            async throws
        {
            let server = try RedisServer()
            let reader = try await RedisReplayBuffer.connect(to: server.address, patient)
            let publisher = try await RedisReplayBuffer.connect(to: server.address, patient)
            let streams = ServedStreams()
            streams.add("s")
            var notices = reader.notices(of: streams).makeAsyncIterator()
            var words = reader.words(of: streams).makeAsyncIterator()
            _ = try await reader.standing(of: "s")
            try await publisher.fill(1...1)
            #expect(await notices.next()?.entry.sequence == 1)
            try server.command("CLIENT", "KILL", "TYPE", "pubsub")
            #expect(await notices.next() == .missed(in: "s"))
            #expect(await words.next() == .missed(stream: "s"))
            #expect(reader.lostSubscriptionCount == 1)
            try await publisher.fill(2...2)
            #expect(await notices.next()?.entry.sequence == 2)
        }

        @Test func `A query for a served stream is answered, and later events are noticed, however Redis fails`()
            async throws
        {
            let server = try RedisServer()
            let reader = try await RedisReplayBuffer.connect(to: server.address, patient)
            let streams = ServedStreams()
            var notices = reader.notices(of: streams).makeAsyncIterator()
            for number in 1...20 {
                if number % 5 == 0 { try server.command("CLIENT", "KILL", "TYPE", "pubsub") }
                let stream = "user \(number)"
                streams.add(stream)
                _ = try await reader.standing(of: stream)
                let position = try await reader.append(event(number), to: stream)
                // Noticed, or read after the notice that it may be missing.
                while let notice = await notices.next() {
                    if notice.entry.sequence == position.sequence, notice.stream == stream { break }
                    guard notice == .missed(in: stream) else { continue }
                    let page = try await reader.page(
                        of: stream, after: .init(epoch: position.epoch, sequence: 0), limit: 9)
                    guard case .entries(let entries, _) = page, entries.count == 1 else { continue }
                    break
                }
            }
        }

        @Test func `A stream that is no longer served isn't received, and others are`() async throws {
            let server = try RedisServer()
            let reader = try await RedisReplayBuffer.connect(to: server.address, patient)
            let streams = ServedStreams()
            var notices = reader.notices(of: streams).makeAsyncIterator()
            for stream in ["a", "b", "*"] { streams.add(stream) }
            for stream in ["a", "b", "*"] { _ = try await reader.standing(of: stream) }
            let expected = ["a", "b", "*"].map { "mesh:0:notices:\($0)" }
            let channels = try server.command("PUBSUB", "CHANNELS")
            #expect(channels.split(whereSeparator: \.isNewline).map(String.init).sorted() == expected.sorted())
            streams.remove("a")
            while try server.command("PUBSUB", "CHANNELS").split(whereSeparator: \.isNewline).count > 2 {
                await Task.yield()
            }
            for stream in ["a", "c", "*", "b"] { _ = try await reader.append(event(1), to: stream) }
            #expect(await notices.next()?.stream == "*")
            #expect(await notices.next()?.stream == "b")
            #expect(try server.command("PUBSUB", "NUMPAT") == "0")
        }

        @Test func `Two databases of one Redis are separate`() async throws {
            let server = try RedisServer()
            let (first, second) = (
                try await RedisReplayBuffer.connect(to: server.address, patient),
                try await RedisReplayBuffer.connect(to: RedisAddress("unix://\(server.socket)?db=1"), patient)
            )
            var notices = first.notices().makeAsyncIterator()
            _ = try await second.append(event(1), to: "s")
            _ = try await first.append(event(2), to: "s")
            #expect(try await notices.next()?.entry.event == event(2))
        }

        @Test(arguments: [
            "another program's", "", "1\n2\n", "x\n1\nNUMBER\n{}", "1\n0\nOTHER\n", "1\n99999999999999999\nN\n",
        ])
        func `An unreadable message is skipped and counted, and later ones arrive`(text: String) async throws {
            let server = try RedisServer()
            let reader = try await RedisReplayBuffer.connect(to: server.address, patient)
            let publisher = try await RedisReplayBuffer.connect(to: server.address, patient)
            var notices = reader.notices().makeAsyncIterator()
            try await publisher.fill(1...1)
            try server.command("PUBLISH", "mesh:0:notices:s", text)
            try await publisher.fill(2...2)
            for number in 1...2 { #expect(await notices.next()?.entry.sequence == UInt64(number)) }
            #expect(reader.skippedNoticeCount == 1)
        }

        @Test func `Live packets beyond their limit are dropped, and don't block queries`() async throws {
            let server = try RedisServer()
            let buffer = try await RedisReplayBuffer.connect(to: server.address, patient)
            let words = buffer.words()
            server.pause()
            // One batch may be in progress.
            for number in 0..<5000 { try await buffer.pass([UInt8(number & 255)], to: "s") }
            async let position = buffer.append(event(1), to: "s")
            server.resume()
            #expect(try await position.sequence == 1)
            try await buffer.pass(Array("last".utf8), to: "s")
            var count = 0
            for await word in words {
                if word == .passed(Array("last".utf8), stream: "s") { break }
                count += 1
            }
            #expect((1...2 * 1024).contains(count), "\(count)")
        }
    }
#endif
