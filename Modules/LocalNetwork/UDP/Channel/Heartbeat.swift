#if UDP
    /// The decision when to ping on a silent connection, and when an unheard peer is dead. A value; time is passed in.
    ///
    /// Only records on the stream count. Delivery's probes take the stream every 20 s, so patient peers normally need
    /// no pings.
    struct Heartbeat {
        private let interval: Duration
        private let silenceMax: Duration
        private var saidAt: Duration
        private var heardAt: Duration
        /// An earlier deadline that applies until the peer is heard.
        private var doubtedUntil: Duration?

        /// - Parameters:
        ///   - beat: The interval between signs of life of a peer that isn't patient.
        ///   - missedMax: The number of missed beats after which such a peer is dead.
        ///   - isPatient: True if both sides have agreed to ping after five silent beats and to wait ten.
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

        /// Sets a deadline by which the peer must be heard.
        mutating func doubt(until deadline: Duration) { doubtedUntil = doubtedUntil ?? deadline }

        private var deadAt: Duration {
            let deadline = heardAt + silenceMax
            return min(deadline, doubtedUntil ?? deadline)
        }

        /// Returns the reason why the connection is dead, or nil if it isn't.
        func death(_ now: Duration) -> String? {
            now >= deadAt ? "nothing was heard for \(now - heardAt)" : nil
        }

        /// Returns true if a ping must be sent. It counts as sent at once: if it waits behind data that the peer
        /// doesn't read, a second ping behind it would be no use.
        mutating func tick(_ now: Duration) -> Bool {
            guard now - saidAt >= interval else { return false }
            saidAt = now
            return true
        }

        /// The time of the next `tick`.
        var dueAt: Duration { min(saidAt + interval, deadAt) }
    }
#endif
