#if Redis
    import MeshBus
    import MeshRedisReplay
    package import MeshResumeGateway

    extension RedisServer {
        /// Two processes' buffers on this server, for the rules.
        package func subject(_ limits: ReplayLimits) async throws -> ReplayBufferRules.Subject {
            let passed = Locked(Duration.zero)
            let settings = RedisReplaySettings(limits: limits)
            let skew: @Sendable () -> Duration = { passed.withLock { $0 } }
            return ReplayBufferRules.Subject(
                first: try await RedisReplayBuffer.connect(to: address, settings, skew: skew),
                second: try await RedisReplayBuffer.connect(to: address, settings, skew: skew),
                pass: { time in passed.withLock { $0 += time } },
                // As by a restart without a disk, with the connections left.
                lose: { try self.command("FLUSHALL") })
        }
    }
#endif
