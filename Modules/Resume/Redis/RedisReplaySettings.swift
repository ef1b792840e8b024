#if Redis
    public import MeshResumeGateway

    /// The settings for using Redis. All processes that share streams must use equal settings, except for the timeout.
    public struct RedisReplaySettings: Hashable, Sendable {
        /// The reaction to a Redis server that was restarted, or replaced by its replica.
        public enum Restart: Hashable, Sendable {
            /// Every stream gets another epoch. Safe with any persistence and any replication.
            case newEpoch
            /// Streams go on after a restart from the append-only file. Safe only where Redis has `appendonly yes` and
            /// `appendfsync always`, and no replica ever takes its place: with `everysec` numbers that were given come
            /// again. A promoted replica, and a store that has less than a process of ours knows, is found out even so.
            case continues
        }

        /// The prefix of all its keys.
        public var prefix: String
        /// The number of streams is not limited, only how long one is kept that is not used.
        public var limits: ReplayLimits
        /// What becomes of streams when Redis was started again.
        package var restart: Restart
        /// Maximum time for connecting and for each answer. Beyond it the connection is given up.
        public var timeout: Duration
        /// A stream that was not used for so long has another epoch when it is next.
        public var idle: Duration

        /// The defaults are safe with any persistence and any replication.
        public init(
            prefix: String = "mesh", limits: ReplayLimits = ReplayLimits(), restart: Restart = .newEpoch,
            timeout: Duration = .seconds(2), idle: Duration = .seconds(86400)
        ) {
            self.prefix = prefix
            self.limits = limits
            self.restart = restart
            self.timeout = max(.milliseconds(10), timeout)
            self.idle = max(.seconds(1), idle)
        }

        /// Returns the settings for mailboxes: a queue is kept for a week, and an unused mailbox for 30 days.
        public static func mailboxes(prefix: String = "mesh-mail") -> RedisReplaySettings {
            RedisReplaySettings(prefix: prefix, limits: MailboxBounds.queue, idle: MailboxBounds.idle)
        }
    }
#endif
