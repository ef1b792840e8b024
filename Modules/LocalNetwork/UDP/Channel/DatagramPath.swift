#if UDP
    /// Whether a peer hears our sealed datagrams. A value; time is passed in.
    ///
    /// A probe goes out at once, again after 50, 150 and 350 ms, and with every heartbeat from then on. Whoever opens a
    /// datagram says so over the stream, at most twice a heartbeat. Once that was heard datagrams take this way; when it has
    /// not been heard for some heartbeats they take the stream again, until it is.
    struct DatagramPath {
        private let heartbeat: Duration
        private let missedMax: Int
        private(set) var isProven = false
        private var probeCount = 0
        /// When the next probe is due.
        private(set) var probeAt: Duration
        private var heardAt = Duration.zero
        private var toldAt: Duration?

        init(heartbeat: Duration, missedMax: Int, now: Duration) {
            self.heartbeat = heartbeat
            self.missedMax = missedMax
            probeAt = now
        }

        /// The peer says that it hears us.
        mutating func heard(_ now: Duration) {
            isProven = true
            heardAt = now
        }

        /// - Returns: whether a probe is to be sent.
        mutating func tick(_ now: Duration) -> Bool {
            if isProven, now - heardAt > heartbeat * missedMax { isProven = false }
            guard now >= probeAt else { return false }
            let early = Duration.milliseconds(50) * (1 << min(probeCount, 10))
            probeAt = now + (probeCount < 3 ? min(early, heartbeat) : heartbeat)
            probeCount += 1
            return true
        }

        /// A datagram of the peer's has been opened.
        /// - Returns: whether the peer is to be told.
        mutating func opened(_ now: Duration) -> Bool {
            if let toldAt, now - toldAt < heartbeat / 2 { return false }
            toldAt = now
            return true
        }
    }
#endif
