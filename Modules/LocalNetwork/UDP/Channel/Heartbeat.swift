#if UDP
    /// The schedule of pings on a silent connection, and the time when a silent peer is dead. Time is passed in.
    ///
    /// Only records on the stream count. Delivery's probes take the stream every 20 s, so patient peers normally need
    /// no pings.
    struct Heartbeat {
        private let interval: Duration
        private let silenceMax: Duration
        private var sentAt: Duration
        private var receivedAt: Duration
        /// An earlier deadline that applies until the next sign of life.
        private var signDueAt: Duration?

        /// - Parameters:
        ///   - beat: The interval `UDPLinkTimes.heartbeat`. A peer that isn't patient is pinged after one silent beat.
        ///   - missedMax: The number of missed beats after which such a peer is dead.
        ///   - isPatient: True if both sides support patience (`Hello.patience`): a ping after five silent beats, and
        ///     death only after ten.
        init(beat: Duration, missedMax: Int, isPatient: Bool, now: Duration) {
            interval = isPatient ? beat * 5 : beat
            silenceMax = isPatient ? beat * 10 : beat * missedMax
            sentAt = now
            receivedAt = now
        }

        mutating func noteSent(_ now: Duration) { sentAt = now }

        mutating func noteReceived(_ now: Duration) {
            receivedAt = now
            signDueAt = nil
        }

        /// Sets a deadline for the next sign of life of the peer.
        mutating func requireSign(by deadline: Duration) { signDueAt = signDueAt ?? deadline }

        private var deadAt: Duration {
            let deadline = receivedAt + silenceMax
            return min(deadline, signDueAt ?? deadline)
        }

        /// Returns the reason why the connection is dead, or nil if it isn't.
        func death(_ now: Duration) -> String? {
            now >= deadAt ? "the peer sent nothing for \(now - receivedAt)" : nil
        }

        /// Returns true if a ping must be sent. It counts as sent at once: while it waits behind data that the peer
        /// doesn't read, a second ping would be of no use.
        mutating func tick(_ now: Duration) -> Bool {
            guard now - sentAt >= interval else { return false }
            sentAt = now
            return true
        }

        /// The time of the next `tick`.
        var dueAt: Duration { min(sentAt + interval, deadAt) }
    }
#endif
