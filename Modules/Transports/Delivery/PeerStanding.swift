import MeshTransport

/// What is known of a peer's answers.
struct PeerStanding: Sendable {
    private(set) var health = DeliveryHealth.gone
    private(set) var roundTrip = RoundTripEstimate()
    /// The other side's clock minus the own one, in milliseconds.
    private(set) var clockOffset: Int64 = 0
    /// A round trip has come back since the connection began.
    private(set) var isProven = false
    private var probeNumber: UInt32 = 0
    private var probeSentAt: UInt64?
    /// When the last probe was sent, until its answer has come. That something else has been acknowledged ends no measurement.
    private var measuringSince: UInt64?
    /// Probes in a row without an answer.
    private var missedCount = 0
    /// When the last answer came, or the connection began. That the peer can be heard does not say that it hears.
    private var provenAt: UInt64 = 0

    /// A connection begins.
    mutating func begin(now: UInt64) {
        isProven = false
        (probeSentAt, measuringSince) = (nil, nil)
        missedCount = 0
        provenAt = now
    }

    mutating func end() {
        isProven = false
        probeSentAt = nil
        health = .gone
    }

    /// A connection has begun, and it is too early to say that nobody answers.
    var isAwaited: Bool { !isProven && missedCount < 3 }

    /// When the next probe is due, or the last one overdue.
    func deadline(heartbeat: UInt64) -> UInt64 {
        guard let probeSentAt else { return isProven ? provenAt + heartbeat : 0 }
        return probeSentAt + patience(heartbeat: heartbeat)
    }

    /// A probe is repeated soon: before the first round trip the other side may just have been slower to begin, and after
    /// it a fifth of a heartbeat is long for an answer.
    private func patience(heartbeat: UInt64) -> UInt64 {
        let timeout = roundTrip.timeout(afterFailures: missedCount)
        return min(isProven ? max(timeout, heartbeat / 5) : timeout, heartbeat)
    }

    /// The other side asks whether it is heard, and half a heartbeat has passed without an answer to this one: it asks in
    /// return, so that of two of whom one is not heard both learn of it.
    mutating func askInReturn(now: UInt64, heartbeat: UInt64) -> UInt32? {
        guard isProven, probeSentAt == nil, provenAt + heartbeat / 2 <= now else { return nil }
        return nextProbe(now)
    }

    private mutating func nextProbe(_ now: UInt64) -> UInt32 {
        probeNumber &+= 1
        (probeSentAt, measuringSince) = (now, now)
        return probeNumber
    }

    /// Something is overdue. Which of its copies an acknowledgement is of nobody can say, so a probe measures.
    mutating func measure(now: UInt64) -> UInt32? {
        guard isProven, measuringSince.map({ $0 + RoundTripEstimate.timeoutMax <= now }) ?? true else { return nil }
        return nextProbe(now)
    }

    /// The number of a probe that is to be sent now; nil when none is due.
    mutating func probe(now: UInt64, heartbeat: UInt64) -> UInt32? {
        guard deadline(heartbeat: heartbeat) <= now else { return nil }
        if probeSentAt != nil {
            missedCount += 1
            if isProven { health = missedCount >= 3 ? .gone : .degraded }
            if missedCount >= 3 { isProven = false }
        }
        return nextProbe(now)
    }

    /// - Returns: whether it answers the probe that is waited for.
    mutating func answered(_ number: UInt32, sentWall: UInt64, answeredWall: UInt64, now: UInt64) -> Bool {
        guard number == probeNumber, let sentAt = measuringSince.take() else { return false }
        let sample = now - sentAt
        roundTrip.measure(sample)
        defer {
            probeSentAt = nil
            prove(now)
        }
        // One that something else has answered before may have been under way for any time.
        guard probeSentAt != nil else { return true }
        let middle = Int64(clamping: sentWall).addingReportingOverflow(Int64(clamping: sample / 2_000_000)).partialValue
        clockOffset = Int64(clamping: answeredWall).subtractingReportingOverflow(middle).partialValue
        return true
    }

    /// Something that was sent on this connection has been acknowledged.
    mutating func acknowledged(sentAt: UInt64?, now: UInt64) {
        if let sentAt, sentAt <= now { roundTrip.measure(now - sentAt) }
        probeSentAt = nil
        prove(now)
    }

    private mutating func prove(_ now: UInt64) {
        isProven = true
        provenAt = now
        missedCount = 0
        health = .reachable
    }
}
