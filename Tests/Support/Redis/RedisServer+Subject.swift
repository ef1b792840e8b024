#if Redis
    import MeshBase
    import MeshRedisReplay
    package import MeshResumeGateway

    extension RedisServer {
        /// Returns two processes' buffers on this server, for the rules. The server lives while either of them does.
        package func subject(_ limits: ReplayLimits) async throws -> ReplayBufferRules.Subject {
            try await Self.subject(of: [self], limits)
        }

        /// Returns two processes' buffers on some shards.
        package static func subject(
            of servers: [RedisServer], _ limits: ReplayLimits
        ) async throws -> ReplayBufferRules.Subject {
            let addresses = try servers.map { try $0.address }
            let passed = Locked(Duration.zero)
            let settings = RedisReplaySettings(limits: limits)
            let skew: @Sendable () -> Duration = { passed.withLock { $0 } }
            let buffers = [
                try await RedisReplayBuffer.connect(to: addresses, settings, skew: skew),
                try await RedisReplayBuffer.connect(to: addresses, settings, skew: skew),
            ].map { ServedBuffer(servers: servers, buffer: $0) }
            return ReplayBufferRules.Subject(
                first: buffers[0], second: buffers[1],
                pass: { time in passed.withLock { $0 += time } },
                // Like a restart without a disk, except that connections stay open.
                lose: { for server in servers { try server.command("FLUSHALL") } })
        }
    }

    private struct ServedBuffer: MailboxStore {
        let servers: [RedisServer]
        let buffer: RedisReplayBuffer

        func append(_ event: ReplayEvent, to stream: String) async throws -> ReplayPosition {
            try await buffer.append(event, to: stream)
        }
        func standing(of stream: String) async throws -> ReplayStanding { try await buffer.standing(of: stream) }
        func page(of stream: String, after position: ReplayPosition, limit: Int) async throws -> ReplayPage {
            try await buffer.page(of: stream, after: position, limit: limit)
        }
        func notices() -> AsyncStream<ReplayNotice> { buffer.notices() }
        func notices(of streams: ServedStreams) -> AsyncStream<ReplayNotice> { buffer.notices(of: streams) }
        func post(_ event: ReplayEvent, from sender: String, to stream: String) async throws -> Bool {
            try await buffer.post(event, from: sender, to: stream)
        }
        func enrol(_ mailbox: String, of user: String, max: Int) async throws -> Bool {
            try await buffer.enrol(mailbox, of: user, max: max)
        }
        func remove(_ mailbox: String, of user: String) async throws {
            try await buffer.remove(mailbox, of: user)
        }
        func set(_ value: [UInt8], _ name: String, of stream: String) async throws -> Bool {
            try await buffer.set(value, name, of: stream)
        }
        func values(_ names: [String]?, of stream: String) async throws -> [String: [UInt8]] {
            try await buffer.values(names, of: stream)
        }
        func pass(_ bytes: [UInt8], to stream: String) async throws { try await buffer.pass(bytes, to: stream) }
        func words() -> AsyncStream<MailboxWord> { buffer.words() }
        func words(of streams: ServedStreams) -> AsyncStream<MailboxWord> { buffer.words(of: streams) }
    }
#endif
