#if UDP
    /// Decides when a silent side of a connection sends a ping, and when a peer that isn't heard is dead. A value; time is
    /// passed in.
    ///
    /// Only records of the stream count. Delivery's probes travel on it every 20 s, so between patient peers no ping is due.
    struct Heartbeat {
        private let interval: Duration
        private let silenceMax: Duration
        private var saidAt: Duration
        private var heardAt: Duration
        /// An earlier deadline, until the peer is heard.
        private var doubtedUntil: Duration?

        /// - Parameters:
        ///   - beat: the time between signs of life of a peer that isn't patient.
        ///   - missedMax: such a connection is dead after this number of beats without one.
        ///   - isPatient: both sides wait five beats before a ping, and ten for a sign of life.
        init(beat: Duration, missedMax: Int, isPatient: Bool, now: Duration) {
            interval = isPatient ? beat * 5 : beat
            silenceMax = isPatient ? beat * 10 : beat * missedMax
            saidAt = now
            heardAt = now
        }

        mutating func said(_ now: Duration) { saidAt = now }

        mutating func heard(_ now: Duration) {
            heardAt = now
            doubtedUntil = nil
        }

        /// The peer must be heard until then.
        mutating func doubt(until deadline: Duration) { doubtedUntil = doubtedUntil ?? deadline }

        private var deadAt: Duration {
            let deadline = heardAt + silenceMax
            return min(deadline, doubtedUntil ?? deadline)
        }

        /// Returns why the connection is dead; nil while it isn't.
        func death(_ now: Duration) -> String? {
            now >= deadAt ? "nothing was heard for \(now - heardAt)" : nil
        }

        /// - Returns: whether a ping is to be put into the stream. It counts as said there and then: one that waits behind
        ///   what the peer does not read is as good as another behind it.
        mutating func tick(_ now: Duration) -> Bool {
            guard now - saidAt >= interval else { return false }
            saidAt = now
            return true
        }

        /// When the next `tick` is due.
        var dueAt: Duration { min(saidAt + interval, deadAt) }
    }
#endif
