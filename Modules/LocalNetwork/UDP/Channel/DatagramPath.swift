#if UDP
    /// Whether a peer hears our sealed datagrams. A value; time is passed in.
    ///
    /// A probe goes out at once, and again after pauses that double from 50 ms, until the peer says over the stream that it
    /// has opened a datagram. Then datagrams take this way. A datagram that leaves when the peer hasn't said so lately asks
    /// for its word, with a probe each beat. Without it for some beats, datagrams take the stream again. A path that carries
    /// nothing is not probed.
    struct DatagramPath {
        private let beat: Duration
        private let missedMax: Int
        private(set) var isProven = false
        private var pause = Duration.milliseconds(50)
        /// When the next probe is due; nil while none is needed.
        private(set) var probeAt: Duration?
        private var probedAt: Duration?
        private var heardAt = Duration.zero
        /// When the first datagram left that asks for the peer's word.
        private var askedAt: Duration?
        private var toldAt: Duration?

        /// The longest pause between probes of a path that isn't proven, in beats.
        private static let pauseMax = 5

        init(beat: Duration, missedMax: Int, now: Duration) {
            self.beat = beat
            self.missedMax = missedMax
            probeAt = now
        }

        /// The peer says that it hears us.
        mutating func heard(_ now: Duration) {
            isProven = true
            heardAt = now
            (askedAt, probeAt) = (nil, nil)
            pause = .milliseconds(50)
        }

        /// Datagrams with content leave.
        /// - Returns: whether they ask for the peer's word, so that `probeAt` is new.
        mutating func sent(_ now: Duration) -> Bool {
            guard isProven, askedAt == nil, now - heardAt >= beat else { return false }
            (askedAt, probeAt) = (now, now + beat)
            return true
        }

        /// A datagram of the peer's has taken the stream: the peer may not know the way here any more, and a probe shows it.
        /// - Returns: whether `probeAt` is new.
        mutating func fellBack(_ now: Duration) -> Bool {
            guard probeAt == nil, probedAt.map({ now - $0 >= beat }) ?? true else { return false }
            probeAt = now
            return true
        }

        /// - Returns: whether a probe is to be sent.
        mutating func tick(_ now: Duration) -> Bool {
            if let askedAt, now - askedAt >= beat * missedMax {
                isProven = false
                self.askedAt = nil
            }
            guard let due = probeAt, now >= due else { return false }
            probedAt = now
            if isProven {
                probeAt = askedAt == nil ? nil : now + beat
            } else {
                probeAt = now + pause
                pause = min(pause * 2, beat * Self.pauseMax)
            }
            return true
        }

        /// A datagram of the peer's has been opened.
        /// - Returns: whether the peer is to be told.
        mutating func opened(_ now: Duration) -> Bool {
            if let toldAt, now - toldAt < beat / 2 { return false }
            toldAt = now
            return true
        }
    }
#endif
