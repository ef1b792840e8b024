#if Redis
    public import MeshResumeGateway

    /// The settings for using Redis. All processes that share streams must use equal settings, except for the timeout.
    public struct RedisReplaySettings: Hashable, Sendable {
        /// The reaction to a Redis server that was restarted, or replaced by its replica.
        public enum Restart: Hashable, Sendable {
            /// Every stream gets a new epoch. Safe with any persistence and any replication.
            case newEpoch
            /// Streams continue after a restart from the append-only file. Safe only if Redis has `appendonly yes` and
            /// `appendfsync always`, and no replica ever replaces it: with `everysec` a number may be given twice. A promoted
            /// replica is detected nevertheless, and so is a store that is older than a running process knows.
            case continues
        }

        /// The prefix of all keys.
        public var prefix: String
        /// The bounds of each stream. The number of streams is unlimited; an unused one is kept for `idle`.
        public var limits: ReplayLimits
        /// The treatment of streams after a restart of Redis.
        package var restart: Restart
        /// Maximum time for connecting and for each answer. Beyond it the connection is closed.
        public var timeout: Duration
        /// The time after which an unused stream is removed. It gets a new epoch when it is next used.
        public var idle: Duration

        /// Creates settings for a Redis store. The defaults are safe with any persistence and any replication.
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
