#if UDP
    /// The counters of one link. They only grow.
    public struct UDPLinkStatistics: Hashable, Sendable {
        /// Connections that were told to the observer, and ended again.
        public internal(set) var connectedCount: UInt64 = 0
        /// The number of connections that have ended.
        public internal(set) var disconnectedCount: UInt64 = 0
        /// Tries to connect to an address.
        public internal(set) var dialCount: UInt64 = 0
        /// Connections that were not let in, by reason.
        public internal(set) var refusals: [UDPRefusal.Code: UInt64] = [:]
        /// Messages handed to the system in sealed packets, one or several in each.
        public internal(set) var datagramsSent: UInt64 = 0
        /// Messages of sealed packets that were opened.
        public internal(set) var datagramsReceived: UInt64 = 0
        /// The number of datagrams of no known channel, from strangers or for a connection that has ended.
        public internal(set) var datagramsForeign: UInt64 = 0
        /// The number of datagrams of a known channel that were forged, replayed or too late.
        public internal(set) var datagramsRefused: UInt64 = 0
        /// Datagrams that went over the stream because the peer had heard none.
        public internal(set) var fallbackSent: UInt64 = 0
        /// The number of datagrams over the stream that were dropped for a newer one.
        public internal(set) var fallbackDropped: UInt64 = 0

        /// Creates counters that are all zero.
        public init() {}

        /// The number of refusals for all reasons together.
        public var refusalCount: UInt64 { refusals.values.reduce(0, +) }
    }
#endif
