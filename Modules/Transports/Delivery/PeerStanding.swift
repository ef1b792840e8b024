import MeshTransport

// Terms. A *probe* asks for an answer at once: its *echo*. An echo or an acknowledgement *proves* that the peer hears
// this side. Any other frame shows only that this side hears the peer. Two peers may *announce* how long each may be
// silent. Then one exchange serves both sides: a prober that doesn't hear the echo probes again within seconds, so the
// answering side needs no probe of its own. Round trips and timeouts follow RFC 6298 (`RoundTripEstimate`).
// Docs/Internals/Delivery.md has the rules under "Health".

/// The health of one peer on its current connection, and the schedule of the probes that measure it.
struct PeerStanding: Sendable {
    private(set) var health = DeliveryHealth.gone
    private(set) var roundTrip = RoundTripEstimate()
    /// The other side's clock minus this side's, in milliseconds.
    private(set) var clockOffset: Int64 = 0
    private(set) var rules: SilenceRules
    /// True once a round trip has come back on this connection.
    private(set) var isProven = false
    private var probeNumber: UInt32 = 0
    /// The time of the last probe; nil once it is answered.
    private var probeSentAt: UInt64?
    /// Probes of this connection without an echo, oldest first. Acknowledgements don't end a measurement.
    private var measuring: [(number: UInt32, sentAt: UInt64)] = []
    /// Number of probes in a row without an answer.
    private var missedCount = 0
    /// Number of probes without an answer since the peer was last heard. Probes back off while nothing arrives.
    private var missedSinceFrame = 0
    /// The time of the last proof, or of the connection's beginning. Hearing the peer proves nothing: it may not hear
    /// this side.
    private var provenAt: UInt64 = 0
    /// The time of this side's last answer to a probe that wasn't repeated.
    private var lastAnswerAt: UInt64 = 0
    /// The time of the peer's last probe.
    private var peerProbedAt: UInt64?
    private var lastFrameAt: UInt64 = 0
    /// Nanoseconds after `lastFrameAt` by which the peer must speak again.
    private var peerSilence: UInt64
    /// The time since which the peer owes an acknowledgement, or the time of a later proof.
    private var outstandingSince: UInt64?

    private static let measuringMax = 8

    init(_ rules: SilenceRules) {
        self.rules = rules
        peerSilence = rules.silenceMax
    }

    /// Starts over for a new connection.
    mutating func begin(_ rules: SilenceRules, now: UInt64) {
        self.rules = rules
        isProven = false
        (probeSentAt, measuring) = (nil, [])
        (missedCount, missedSinceFrame) = (0, 0)
        (provenAt, lastFrameAt, lastAnswerAt) = (now, now, 0)
        (peerProbedAt, outstandingSince) = (nil, nil)
        peerSilence = rules.silenceMax
    }

    mutating func end() {
        isProven = false
        probeSentAt = nil
        health = .gone
    }

    /// Applies other rules: the peer has sent another hello with different abilities.
    mutating func change(_ rules: SilenceRules) {
        guard rules != self.rules else { return }
        self.rules = rules
        peerSilence = rules.silenceMax
    }

    /// True while the connection is too new to conclude that the peer doesn't answer.
    var isAwaited: Bool { !isProven && missedCount < rules.probesMax }

    // MARK: Probing

    /// The time at which the next probe is due or the last one is overdue.
    var deadline: UInt64 {
        if let probeSentAt { return probeSentAt + patience }
        guard isProven else { return 0 }
        var due = max(provenAt, lastAnswerAt) + rules.interval
        guard rules.isAnnounced else { return due }
        due = min(due, lastFrameAt + peerSilence + patience)
        return outstandingSince.map { min(due, $0 + rules.patienceMax) } ?? due
    }

    /// The time to wait for an echo. Before the first round trip it is short, because a side that begins later may have
    /// missed the probe. After that it is at least `patienceMin`.
    private var patience: UInt64 {
        let timeout = roundTrip.timeout(afterFailures: missedSinceFrame)
        return min(isAwaited ? timeout : max(timeout, rules.patienceMin), rules.patienceMax)
    }

    /// Returns the number of a probe to send now, or nil if none is due.
    mutating func probe(now: UInt64) -> UInt32? {
        guard deadline <= now else { return nil }
        if probeSentAt != nil {
            missedCount += 1
            missedSinceFrame += 1
            if isProven { health = missedCount >= rules.probesMax ? .gone : .degraded }
            if missedCount >= rules.probesMax { isProven = false }
        }
        return nextProbe(now)
    }

    /// Returns the number of a probe that is due soon, to leave with another frame; nil if there is none.
    mutating func piggybackedProbe(now: UInt64) -> UInt32? {
        guard isProven, rules.isAnnounced, probeSentAt == nil, deadline <= now + rules.piggybackWindow else {
            return nil
        }
        return nextProbe(now)
    }

    private mutating func nextProbe(_ now: UInt64) -> UInt32 {
        probeNumber &+= 1
        probeSentAt = now
        if measuring.count == Self.measuringMax { measuring.removeFirst() }
        measuring.append((probeNumber, now))
        return probeNumber
    }

    /// Returns the number of a probe that measures the round trip, because something is overdue. An acknowledgement of
    /// a message that was sent more than once can't measure it (Karn's rule).
    mutating func measure(now: UInt64) -> UInt32? {
        let isMeasuring = measuring.last.map { $0.sentAt + RoundTripEstimate.timeoutMax > now } ?? false
        guard isProven, !isMeasuring else { return nil }
        return nextProbe(now)
    }

    /// Records that a message that the peer must acknowledge was sent.
    /// - Returns: true if it is the only one in flight, so `deadline` may have become earlier.
    mutating func noteOutstanding(now: UInt64) -> Bool {
        guard outstandingSince == nil else { return false }
        outstandingSince = now
        return true
    }

    /// Records that nothing is in flight any more.
    mutating func noteAllAcknowledged() { outstandingSince = nil }

    // MARK: Receiving

    /// Records a frame from the peer.
    /// - Returns: true if `deadline` may have become earlier: a peer that speaks again is probed at once.
    mutating func noteFrame(now: UInt64) -> Bool {
        lastFrameAt = now
        guard missedSinceFrame > 0 else { return false }
        missedSinceFrame = 0
        return true
    }

    /// Records how long the peer says it may be silent, in milliseconds.
    mutating func noteAnnouncement(silence milliseconds: UInt64) {
        peerSilence = max(min(milliseconds, rules.silenceMax / 1_000_000) * 1_000_000, rules.patienceMax)
    }

    /// Records a probe from the peer.
    /// - Returns: the number of a probe to send in return, or nil. If only one direction works, this shows it to both
    ///   sides.
    mutating func noteProbe(now: UInt64) -> UInt32? {
        let earlier = peerProbedAt
        peerProbedAt = now
        guard isProven, probeSentAt == nil else { return nil }
        if rules.isAnnounced {
            // The peer probes again because it hasn't heard the answer.
            let isRepeated = earlier.map { $0 + 2 * rules.patienceMax > now && provenAt < $0 } ?? false
            guard isRepeated else {
                lastAnswerAt = now
                return nil
            }
        } else if provenAt + rules.interval / 2 > now {
            return nil
        }
        return nextProbe(now)
    }

    /// Nanoseconds that an echo may wait. Until the peer has proven that it hears this side, echoes leave at once.
    var echoDelay: UInt64 { isProven ? rules.echoDelay : 0 }

    /// Records an echo.
    /// - Returns: true if its probe was being measured.
    mutating func noteEcho(_ number: UInt32, sentWall: UInt64, answeredWall: UInt64, now: UInt64) -> Bool {
        guard let index = measuring.firstIndex(where: { $0.number == number }) else { return false }
        let sentAt = measuring[index].sentAt
        measuring.removeFirst(index + 1)
        let sample = now - sentAt
        roundTrip.measure(sample)
        defer {
            probeSentAt = nil
            // The other side counts this side's silence from the probe.
            prove(rules.isAnnounced ? max(provenAt, sentAt) : now, now: now)
        }
        // If an acknowledgement came before the echo, the echo may have been in flight for any time. It can't set the
        // clock offset.
        guard probeSentAt != nil, number == probeNumber else { return true }
        let middle = Int64(clamping: sentWall).addingReportingOverflow(Int64(clamping: sample / 2_000_000)).partialValue
        clockOffset = Int64(clamping: answeredWall).subtractingReportingOverflow(middle).partialValue
        return true
    }

    /// Records the acknowledgement of a message that was sent on this connection.
    mutating func noteAcknowledgement(sentAt: UInt64?, now: UInt64) {
        if let sentAt, sentAt <= now { roundTrip.measure(now - sentAt) }
        probeSentAt = nil
        prove(now, now: now)
    }

    private mutating func prove(_ time: UInt64, now: UInt64) {
        isProven = true
        provenAt = time
        if outstandingSince != nil { outstandingSince = now }
        (missedCount, missedSinceFrame) = (0, 0)
        health = .reachable
    }
}
