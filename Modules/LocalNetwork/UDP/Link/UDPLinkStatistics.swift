#if UDP
    /// The counters of one link. They never decrease.
    public struct UDPLinkStatistics: Hashable, Sendable {
        /// The number of connections that were reported to the observer.
        public internal(set) var connectedCount: UInt64 = 0
        /// The number of reported connections that have ended.
        public internal(set) var disconnectedCount: UInt64 = 0
        /// The number of attempts to connect to an address.
        public internal(set) var dialCount: UInt64 = 0
        /// The number of refused connections, by reason.
        public internal(set) var refusals: [UDPRefusal.Code: UInt64] = [:]
        /// The number of messages sent by UDP. A sealed packet may contain several.
        public internal(set) var datagramsSent: UInt64 = 0
        /// The number of messages received by UDP.
        public internal(set) var datagramsReceived: UInt64 = 0
        /// The number of datagrams that belong to no open connection.
        public internal(set) var datagramsForeign: UInt64 = 0
        /// The number of datagrams for a known connection that were forged, replayed, too late or malformed.
        public internal(set) var datagramsRefused: UInt64 = 0
        /// The number of datagrams sent over the stream because the peer wasn't receiving them by UDP.
        public internal(set) var fallbackSent: UInt64 = 0
        /// The number of datagrams for the stream that newer ones replaced.
        public internal(set) var fallbackDropped: UInt64 = 0

        /// Creates counters that are all zero.
        public init() {}

        /// The total number of refusals.
        public var refusalCount: UInt64 { refusals.values.reduce(0, +) }
    }
#endif
