import MeshTransport

/// One peer's answers on the connection that it has now, and the probes that ask for them.
///
/// Words: a *probe* asks for an answer at once, its *echo*. An echo or an acknowledgement *proves* that the peer hears this
/// side; any frame shows only that this side hears the peer. Between two peers that announce their silence, the answer to a
/// probe also assures its sender's receiver: an asker that doesn't hear the answer asks again within seconds.
struct PeerStanding: Sendable {
    private(set) var health = DeliveryHealth.gone
    private(set) var roundTrip = RoundTripEstimate()
    /// The other side's clock minus the own one, in milliseconds.
    private(set) var clockOffset: Int64 = 0
    private(set) var rules: SilenceRules
    /// A round trip has come back since the connection began.
    private(set) var isProven = false
    private var probeNumber: UInt32 = 0
    /// When the last probe was sent, until something has answered it.
    private var probeSentAt: UInt64?
    /// The last probes of this connection without an echo, oldest first. That something else has been acknowledged ends no
    /// measurement.
    private var measuring: [(number: UInt32, sentAt: UInt64)] = []
    /// Probes in a row without an answer.
    private var missedCount = 0
    /// The same since the peer was heard last: probes are sent more and more seldom while nothing comes.
    private var unheardCount = 0
    /// When the last answer came, or the connection began. That the peer can be heard does not say that it hears.
    private var provenAt: UInt64 = 0
    /// When this side answered a probe that wasn't a repeated one.
    private var answeredAt: UInt64 = 0
    /// When the last probe of the peer came.
    private var askedAt: UInt64?
    private var heardAt: UInt64 = 0
    /// Nanoseconds after `heardAt` by which the peer speaks again.
    private var theirSilence: UInt64
    /// Since when something is under way that the peer must acknowledge, or when it was last proven meanwhile.
    private var owedSince: UInt64?

    private static let measuringMax = 8

    init(_ rules: SilenceRules) {
        self.rules = rules
        theirSilence = rules.silenceMax
    }

    /// A connection begins.
    mutating func begin(_ rules: SilenceRules, now: UInt64) {
        self.rules = rules
        isProven = false
        (probeSentAt, measuring) = (nil, [])
        (missedCount, unheardCount) = (0, 0)
        (provenAt, heardAt, answeredAt) = (now, now, 0)
        (askedAt, owedSince) = (nil, nil)
        theirSilence = rules.silenceMax
    }

    mutating func end() {
        isProven = false
        probeSentAt = nil
        health = .gone
    }

    /// The peer has greeted again, as another version of itself.
    mutating func change(_ rules: SilenceRules) {
        guard rules != self.rules else { return }
        self.rules = rules
        theirSilence = rules.silenceMax
    }

    /// A connection has begun, and it is too early to say that nobody answers.
    var isAwaited: Bool { !isProven && missedCount < rules.probesMax }

    // MARK: Probing

    /// When the next probe is due, or the last one overdue.
    var deadline: UInt64 {
        if let probeSentAt { return probeSentAt + patience }
        guard isProven else { return 0 }
        var due = max(provenAt, answeredAt) + rules.interval
        guard rules.isAnnounced else { return due }
        due = min(due, heardAt + theirSilence + patience)
        return owedSince.map { min(due, $0 + rules.patienceMax) } ?? due
    }

    /// A probe is repeated soon: before the first round trip the other side may just have been slower to begin, and after
    /// it the least patience is long for an answer.
    private var patience: UInt64 {
        let timeout = roundTrip.timeout(afterFailures: unheardCount)
        return min(isAwaited ? timeout : max(timeout, rules.patienceMin), rules.patienceMax)
    }

    /// The number of a probe that is to be sent now; nil when none is due.
    mutating func probe(now: UInt64) -> UInt32? {
        guard deadline <= now else { return nil }
        if probeSentAt != nil {
            missedCount += 1
            unheardCount += 1
            if isProven { health = missedCount >= rules.probesMax ? .gone : .degraded }
            if missedCount >= rules.probesMax { isProven = false }
        }
        return nextProbe(now)
    }

    /// The number of a probe that may leave with a frame that leaves anyway, because it is due soon.
    mutating func probeAlong(now: UInt64) -> UInt32? {
        guard isProven, rules.isAnnounced, probeSentAt == nil, deadline <= now + rules.alongTime else { return nil }
        return nextProbe(now)
    }

    private mutating func nextProbe(_ now: UInt64) -> UInt32 {
        probeNumber &+= 1
        probeSentAt = now
        if measuring.count == Self.measuringMax { measuring.removeFirst() }
        measuring.append((probeNumber, now))
        return probeNumber
    }

    /// Something is overdue. Which of its copies an acknowledgement is of nobody can say, so a probe measures.
    mutating func measure(now: UInt64) -> UInt32? {
        let isMeasuring = measuring.last.map { $0.sentAt + RoundTripEstimate.timeoutMax > now } ?? false
        guard isProven, !isMeasuring else { return nil }
        return nextProbe(now)
    }

    /// Something that the peer must acknowledge has been sent.
    /// - Returns: whether it is the first that is under way, so that `deadline` may be sooner now.
    mutating func owes(now: UInt64) -> Bool {
        guard owedSince == nil else { return false }
        owedSince = now
        return true
    }

    /// Nothing is under way any more.
    mutating func owesNothing() { owedSince = nil }

    // MARK: What comes

    /// A frame has come from the peer.
    /// - Returns: whether `deadline` may be sooner now: a peer that speaks again is asked again at once.
    mutating func heard(now: UInt64) -> Bool {
        heardAt = now
        guard unheardCount > 0 else { return false }
        unheardCount = 0
        return true
    }

    /// The peer announces how long it may be silent, in milliseconds.
    mutating func announced(silence milliseconds: UInt64) {
        theirSilence = max(min(milliseconds, rules.silenceMax / 1_000_000) * 1_000_000, rules.patienceMax)
    }

    /// The peer asks whether it is heard.
    /// - Returns: the number of a probe that asks in return, so that of two peers of which one isn't heard both learn of it.
    mutating func asked(now: UInt64) -> UInt32? {
        let earlier = askedAt
        askedAt = now
        guard isProven, probeSentAt == nil else { return nil }
        if rules.isAnnounced {
            // It asks again if it hasn't heard the answer.
            let isRepeated = earlier.map { $0 + 2 * rules.patienceMax > now && provenAt < $0 } ?? false
            guard isRepeated else {
                answeredAt = now
                return nil
            }
        } else if provenAt + rules.interval / 2 > now {
            return nil
        }
        return nextProbe(now)
    }

    /// The time for which an echo may wait. Until the peer has proven that it hears this side, echoes leave at once.
    var echoDelay: UInt64 { isProven ? rules.echoDelay : 0 }

    /// - Returns: whether it answers a probe that is measured.
    mutating func answered(_ number: UInt32, sentWall: UInt64, answeredWall: UInt64, now: UInt64) -> Bool {
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
        // One that something else has answered before may have been under way for any time.
        guard probeSentAt != nil, number == probeNumber else { return true }
        let middle = Int64(clamping: sentWall).addingReportingOverflow(Int64(clamping: sample / 2_000_000)).partialValue
        clockOffset = Int64(clamping: answeredWall).subtractingReportingOverflow(middle).partialValue
        return true
    }

    /// Something that was sent on this connection has been acknowledged.
    mutating func acknowledged(sentAt: UInt64?, now: UInt64) {
        if let sentAt, sentAt <= now { roundTrip.measure(now - sentAt) }
        probeSentAt = nil
        prove(now, now: now)
    }

    private mutating func prove(_ time: UInt64, now: UInt64) {
        isProven = true
        provenAt = time
        if owedSince != nil { owedSince = now }
        (missedCount, unheardCount) = (0, 0)
        health = .reachable
    }
}
