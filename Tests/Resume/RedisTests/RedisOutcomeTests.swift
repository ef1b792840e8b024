#if Redis
    import MeshBase
    import MeshRedisLab
    import MeshRedisReplay
    import MeshResumeGateway
    import Testing

    /// What becomes of streams when Redis is down, slow, empty or another (Docs/Server/ResumeServer.md).
    @Suite struct RedisOutcomeTests {
        private let settings = RedisReplaySettings(timeout: .milliseconds(1500))

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

        @Test func `Slow: what was not answered in time throws, may have happened, and leaves no hole`() async throws {
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

        @Test func `Slow: no more wait than there is room for`() async throws {
            let server = try RedisServer()
            var patient = settings
            // Nothing that waits gives up here, however busy the machine is.
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
                            if "\(error)".contains("wait already") { refusals.withLock { $0 += 1 } }
                        }
                    }
                }
                // One turn of at most 4096 is under way while as many wait.
                while refusals.withLock({ $0 }) < count - 2 * 4096 { await Task.yield() }
                server.resume()
            }
            #expect((count - 2 * 4096...count - 4096).contains(refusals.withLock { $0 }))
        }

        @Test func `Started again and empty: another epoch, old cursors are refused, and notices go on`() async throws {
            let server = try RedisServer()
            let buffer = try await RedisReplayBuffer.connect(to: server.address, settings)
            let before = try await buffer.fill(1...3)
            server.kill()
            try server.start()
            var notices = buffer.notices().makeAsyncIterator()
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
        func `Started again with its file: another epoch all the same`(
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

        @Test func `Started again with every write in its file, where that counts: streams go on`() async throws {
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

        @Test func `Started again without its file, where it is said to count: another epoch`() async throws {
            var settings = settings
            settings.restart = .continues
            let server = try RedisServer()
            let buffer = try await RedisReplayBuffer.connect(to: server.address, settings)
            let before = try await buffer.fill(1...3)
            server.kill()
            try server.start()
            #expect(try await buffer.standingAtLast().epoch != before.epoch)
        }

        @Test func `Emptied while it runs: another epoch, and notices go on`() async throws {
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

        @Test func `Evicted events are gone, and no numbers are given again`() async throws {
            let server = try RedisServer()
            let buffer = try await RedisReplayBuffer.connect(to: server.address, settings)
            let before = try await buffer.fill(1...3)
            try server.command("DEL", "mesh:events:s")
            let standing = try await buffer.standing(of: "s")
            #expect(standing == ReplayStanding(epoch: before.epoch, oldest: 4, newest: 3))
            #expect(try await buffer.fill(4...4) == .init(epoch: before.epoch, sequence: 4))
        }

        @Test func `A list of notices that was trimmed too far is counted`() async throws {
            let server = try RedisServer()
            var short = settings
            short.noticeCount = 3
            let reader = try await RedisReplayBuffer.connect(to: server.address, short)
            let publisher = try await RedisReplayBuffer.connect(to: server.address, short)
            try server.command("CLIENT", "KILL", "TYPE", "normal")
            server.pause()
            server.resume()
            _ = try await publisher.standingAtLast()
            var notices = reader.notices().makeAsyncIterator()
            try await publisher.fill(1...20)
            var last: UInt64 = 0
            while last < 20, let notice = await notices.next() {
                #expect(notice.entry.sequence > last)
                last = notice.entry.sequence
            }
            #expect(last == 20)
            #expect(reader.missedNoticeCount < 20)
        }

        /// Ids: the store's next number before and after its time, numbers that it hasn't reached, and the last of all.
        @Test(arguments: ["4-1", "4-4102444800000", "5-1", "*", "\(UInt64.max)-\(UInt64.max)"])
        func `A notice that can't be read is skipped and counted, and the next ones come`(id: String) async throws {
            let server = try RedisServer()
            let reader = try await RedisReplayBuffer.connect(to: server.address, settings)
            let publisher = try await RedisReplayBuffer.connect(to: server.address, settings)
            var notices = reader.notices().makeAsyncIterator()
            let first = try await publisher.fill(1...3)
            for number in 1...3 { #expect(await notices.next()?.entry.sequence == UInt64(number)) }
            try server.command("XADD", "mesh:notices", id, "another", "program's")
            while reader.skippedNoticeCount == 0 { await Task.yield() }
            #expect(try await publisher.fill(4...6) == ReplayPosition(epoch: first.epoch, sequence: 6))
            for number in 4...6 {
                let notice = await notices.next()
                #expect(notice?.entry.sequence == UInt64(number))
                #expect(notice?.epoch == first.epoch)
            }
            #expect(reader.skippedNoticeCount == 1)
            #expect(reader.missedNoticeCount == 0)
        }
    }
#endif
