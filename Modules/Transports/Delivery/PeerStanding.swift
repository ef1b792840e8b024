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
    /// Probes in a row without an answer.
    private var missedCount = 0
    var heardAt: UInt64 = 0

    /// A connection begins.
    mutating func begin(now: UInt64) {
        isProven = false
        probeSentAt = nil
        missedCount = 0
        heardAt = now
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
        guard let probeSentAt else { return isProven ? heardAt + heartbeat : 0 }
        return probeSentAt + patience(heartbeat: heartbeat)
    }

    /// Before the first round trip a probe is repeated soon, since the other side may just have been slower to begin.
    private func patience(heartbeat: UInt64) -> UInt64 {
        isProven ? heartbeat : min(roundTrip.timeout(afterFailures: missedCount), heartbeat)
    }

    /// The number of a probe that is to be sent now; nil when none is due.
    mutating func probe(now: UInt64, heartbeat: UInt64) -> UInt32? {
        guard deadline(heartbeat: heartbeat) <= now else { return nil }
        if probeSentAt != nil {
            missedCount += 1
            if isProven { health = missedCount >= 3 ? .gone : .degraded }
            if missedCount >= 3 { isProven = false }
        }
        probeNumber &+= 1
        probeSentAt = now
        return probeNumber
    }

    /// - Returns: whether it answers the probe that is waited for.
    mutating func answered(_ number: UInt32, sentWall: UInt64, answeredWall: UInt64, now: UInt64) -> Bool {
        guard number == probeNumber, let sentAt = probeSentAt else { return false }
        let sample = now - sentAt
        roundTrip.measure(sample)
        let middle = Int64(clamping: sentWall).addingReportingOverflow(Int64(clamping: sample / 2_000_000)).partialValue
        clockOffset = Int64(clamping: answeredWall).subtractingReportingOverflow(middle).partialValue
        probeSentAt = nil
        prove()
        return true
    }

    /// Something that was sent on this connection has been acknowledged.
    mutating func acknowledged(sentAt: UInt64?, now: UInt64) {
        if let sentAt, sentAt <= now { roundTrip.measure(now - sentAt) }
        probeSentAt = nil
        prove()
    }

    private mutating func prove() {
        isProven = true
        missedCount = 0
        health = .reachable
    }
}
