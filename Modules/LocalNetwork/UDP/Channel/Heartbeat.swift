#if UDP
    /// When a connection that says nothing else says that it lives, and when one that is not heard is dead. A value; time is
    /// passed in.
    struct Heartbeat {
        private let interval: Duration
        private var saidAt: Duration
        private var heardAt: Duration
        /// How long a connection lives of which nothing is heard.
        let silenceMax: Duration

        init(interval: Duration, missedMax: Int, now: Duration) {
            self.interval = interval
            silenceMax = interval * missedMax
            saidAt = now
            heardAt = now
        }

        mutating func said(_ now: Duration) { saidAt = now }
        mutating func heard(_ now: Duration) { heardAt = now }

        func isDead(_ now: Duration) -> Bool { now - heardAt >= silenceMax }

        /// - Returns: whether a ping is to be put into the stream. It counts as said there and then: one that waits behind
        ///   what the peer does not read is as good as another behind it.
        mutating func tick(_ now: Duration) -> Bool {
            guard now - saidAt >= interval else { return false }
            saidAt = now
            return true
        }

        /// When the next `tick` is due.
        var dueAt: Duration { min(saidAt + interval, heardAt + silenceMax) }
    }
#endif
