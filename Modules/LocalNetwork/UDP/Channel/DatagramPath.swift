#if UDP
    /// Tracks whether a peer receives our sealed datagrams. A value; callers pass in the current time.
    ///
    /// A probe is sent at once, and again after pauses that double from 50 ms, until the peer confirms over the stream
    /// that it has opened a datagram. From then on datagrams go by UDP. If the last confirmation is older than a beat,
    /// the next datagram requests another, and a probe follows each beat. Without a confirmation for `missedMax` beats,
    /// datagrams take the stream again. An unused path isn't probed. A beat is the interval `UDPLinkTimes.heartbeat`.
    struct DatagramPath {
        private let beat: Duration
        private let missedMax: Int
        private(set) var isProven = false
        private var pause = Duration.milliseconds(50)
        /// The time of the next probe; nil while none is needed.
        private(set) var probeAt: Duration?
        private var probedAt: Duration?
        private var confirmedAt = Duration.zero
        /// The time of the first datagram that waits for a confirmation.
        private var requestedAt: Duration?
        private var confirmationSentAt: Duration?

        /// The longest pause between probes of an unproven path, in beats.
        private static let pauseMax = 5

        init(beat: Duration, missedMax: Int, now: Duration) {
            self.beat = beat
            self.missedMax = missedMax
            probeAt = now
        }

        /// Notes that the peer has confirmed our datagrams.
        mutating func noteConfirmation(_ now: Duration) {
            isProven = true
            confirmedAt = now
            (requestedAt, probeAt) = (nil, nil)
            pause = .milliseconds(50)
        }

        /// Notes that datagrams with content are sent.
        /// - Returns: True if they request a confirmation, so that `probeAt` has changed.
        mutating func noteSent(_ now: Duration) -> Bool {
            guard isProven, requestedAt == nil, now - confirmedAt >= beat else { return false }
            (requestedAt, probeAt) = (now, now + beat)
            return true
        }

        /// Notes that a datagram of the peer came over the stream. A probe shows the peer our port, which it may have
        /// lost.
        /// - Returns: True if `probeAt` has changed.
        mutating func noteFallback(_ now: Duration) -> Bool {
            guard probeAt == nil, probedAt.map({ now - $0 >= beat }) ?? true else { return false }
            probeAt = now
            return true
        }

        /// - Returns: True if a probe must be sent.
        mutating func tick(_ now: Duration) -> Bool {
            if let requestedAt, now - requestedAt >= beat * missedMax {
                isProven = false
                self.requestedAt = nil
            }
            guard let due = probeAt, now >= due else { return false }
            probedAt = now
            if isProven {
                probeAt = requestedAt == nil ? nil : now + beat
            } else {
                probeAt = now + pause
                pause = min(pause * 2, beat * Self.pauseMax)
            }
            return true
        }

        /// Notes that a datagram of the peer was opened.
        /// - Returns: True if the peer must be sent a confirmation.
        mutating func noteOpened(_ now: Duration) -> Bool {
            if let confirmationSentAt, now - confirmationSentAt < beat / 2 { return false }
            confirmationSentAt = now
            return true
        }
    }
#endif
