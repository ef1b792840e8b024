#if Redis
    import MeshBase
    import MeshRedisReplay
    package import MeshResumeGateway

    extension RedisServer {
        /// Two processes' buffers on this server, for the rules. The server lives as long as one of them.
        package func subject(_ limits: ReplayLimits) async throws -> ReplayBufferRules.Subject {
            let passed = Locked(Duration.zero)
            let settings = RedisReplaySettings(limits: limits)
            let skew: @Sendable () -> Duration = { passed.withLock { $0 } }
            let buffers = [
                try await RedisReplayBuffer.connect(to: address, settings, skew: skew),
                try await RedisReplayBuffer.connect(to: address, settings, skew: skew),
            ].map { ServedBuffer(server: self, buffer: $0) }
            return ReplayBufferRules.Subject(
                first: buffers[0], second: buffers[1],
                pass: { time in passed.withLock { $0 += time } },
                // As by a restart without a disk, with the connections left.
                lose: { try self.command("FLUSHALL") })
        }
    }

    private struct ServedBuffer: ReplayBuffer {
        let server: RedisServer
        let buffer: RedisReplayBuffer

        func append(_ event: ReplayEvent, to stream: String) async throws -> ReplayPosition {
            try await buffer.append(event, to: stream)
        }
        func standing(of stream: String) async throws -> ReplayStanding { try await buffer.standing(of: stream) }
        func page(of stream: String, after position: ReplayPosition, limit: Int) async throws -> ReplayPage {
            try await buffer.page(of: stream, after: position, limit: limit)
        }
        func notices() -> AsyncStream<ReplayNotice> { buffer.notices() }
    }
#endif
