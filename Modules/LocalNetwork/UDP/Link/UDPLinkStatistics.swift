#if UDP
    /// What has passed over one link so far. Counters only grow.
    public struct UDPLinkStatistics: Hashable, Sendable {
        /// Connections that were told to the observer, and ended again.
        public internal(set) var connectedCount: UInt64 = 0
        /// Those of them that have ended.
        public internal(set) var disconnectedCount: UInt64 = 0
        /// Tries to connect to an address.
        public internal(set) var dialCount: UInt64 = 0
        /// Connections that were not let in, by reason.
        public internal(set) var refusals: [UDPRefusal.Code: UInt64] = [:]
        /// Messages handed to the system in sealed packets, one or several in each.
        public internal(set) var datagramsSent: UInt64 = 0
        /// Messages of sealed packets that were opened.
        public internal(set) var datagramsReceived: UInt64 = 0
        /// Of no channel: strangers, and what an ended connection has left behind.
        public internal(set) var datagramsForeign: UInt64 = 0
        /// Of a channel, but forged, replayed or too late.
        public internal(set) var datagramsRefused: UInt64 = 0
        /// Datagrams that went over the stream because the peer had heard none.
        public internal(set) var fallbackSent: UInt64 = 0
        /// Of those, let go for a newer one.
        public internal(set) var fallbackDropped: UInt64 = 0

        /// Nothing yet.
        public init() {}

        /// Of all reasons together.
        public var refusalCount: UInt64 { refusals.values.reduce(0, +) }
    }
#endif
