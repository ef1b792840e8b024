#if Redis
    import MeshBase
    import MeshRedisLab
    import MeshRedisReplay
    import MeshResumeGateway
    import Testing

    /// A replica replaces the master, with fewer events than the master had acknowledged.
    @Suite struct RedisFailoverTests {
        private let settings = RedisReplaySettings(timeout: .milliseconds(1500))

        /// A master that has acknowledged 5 events, of which its replica has 3.
        private struct Pair {
            let master: RedisServer
            let replica: RedisServer
            let place: MovingAddress
            let buffer: RedisReplayBuffer
            let said: ReplayPosition

            /// Promotes the replica while the master still answers. Later events don't reach the replica.
            init(_ settings: RedisReplaySettings, _ persistence: RedisServer.Persistence = .none) async throws {
                master = try RedisServer()
                replica = try RedisServer(persistence)
                try replica.follow(master)
                place = try MovingAddress(to: master)
                buffer = try await RedisReplayBuffer.connect(to: place.address, settings)
                try await buffer.fill(1...3)
                try replica.hasCaughtUp(with: master)
                try replica.promote()
                said = try await buffer.fill(4...5)
                #expect(try replica.command("HGET", "mesh:meta:s", "newest") == "3")
            }

            func failOver() throws {
                master.kill()
                try place.point(to: replica)
            }
        }

        @Test func `A replica without the newest events has another epoch for a running process`() async throws {
            let pair = try await Pair(settings)
            try pair.failOver()
            let standing = try await pair.buffer.standingAtLast()
            #expect(standing.epoch != pair.said.epoch)
            #expect(standing.newest == 0)
            #expect(try await pair.buffer.fill(1...1).sequence == 1)
        }

        @Test func `A replica also has another epoch for a new process`() async throws {
            let pair = try await Pair(settings)
            try pair.failOver()
            let other = try await RedisReplayBuffer.connect(to: pair.place.address, settings)
            #expect(try await other.fill(1...1).epoch != pair.said.epoch)
        }

        @Test func `A promoted replica is detected although restarts are configured to continue`() async throws {
            var trusting = settings
            trusting.restart = .continues
            let pair = try await Pair(trusting, .always)
            try pair.failOver()
            let other = try await RedisReplayBuffer.connect(to: pair.place.address, trusting)
            #expect(try await other.fill(1...1).epoch != pair.said.epoch)
        }

        @Test func `Without the fence, two events get one number`() async throws {
            let pair = try await Pair(settings)
            // No process that knows more is running. The replica poses as the server that was there before.
            try pair.replica.command("HSET", "mesh:home", "server", pair.replica.field("master_replid"))
            let other = try await RedisReplayBuffer.connect(to: pair.replica.address, settings)
            #expect(try await other.fill(100...100) == .init(epoch: pair.said.epoch, sequence: 4))
        }

        @Test func `A store behind a process's knowledge has another epoch`() async throws {
            let pair = try await Pair(settings)
            try pair.failOver()
            try pair.replica.command("HSET", "mesh:home", "server", pair.replica.field("master_replid"))
            #expect(try await pair.buffer.standingAtLast().epoch != pair.said.epoch)
        }

        @Test func `An empty replica has another epoch`() async throws {
            let (master, replica) = (try RedisServer(), try RedisServer())
            let place = try MovingAddress(to: master)
            let buffer = try await RedisReplayBuffer.connect(to: place.address, settings)
            let said = try await buffer.fill(1...3)
            master.kill()
            try place.point(to: replica)
            let after = try await buffer.standingAtLast()
            #expect(after.epoch != said.epoch)
            #expect(after.newest == 0)
        }

        @Test func `A demoted master rejects writes, and has another epoch when it returns`() async throws {
            let (master, replica) = (try RedisServer(), try RedisServer())
            let buffer = try await RedisReplayBuffer.connect(to: master.address, settings)
            let said = try await buffer.fill(1...3)
            try replica.follow(master)
            try replica.promote()
            try master.follow(replica)
            await #expect(throws: ReplayBufferError.self) { try await buffer.append(event(4), to: "s") }
            await #expect(throws: ReplayBufferError.self) {
                try await RedisReplayBuffer.connect(to: master.address, settings)
            }
            try master.promote()
            #expect(try await buffer.standingAtLast().epoch != said.epoch)
        }
    }
#endif
