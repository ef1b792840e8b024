package import MeshFoundation

/// The time by which a peer's clock is ahead of the local one, estimated from round trips of control messages.
///
/// A message cannot arrive before it was sent: each round trip gives bounds that hold whatever the delays were. The estimate
/// is the middle of what the last 8 round trips leave, and half the distance is its stated error. Both clocks drift, so a
/// bound widens by 100 parts per million of its age.
///
/// A round trip whose bounds contradict the kept ones proves that one of the two clocks was set: the kept ones are
/// discarded. One that began before the last kept one ended may be late, from before the clock was set, and tells nothing. A
/// clock that was set by less than the bounds' distance proves nothing either, and is followed within 8 round trips.
///
/// Source: Mills, *Internet Time Synchronization: the Network Time Protocol* (1991); Cristian, *Probabilistic Clock
/// Synchronization* (1989); the intersection is Marzullo's (1984). Deviation: no filter and no discipline.
public struct ClockOffsetEstimate: Hashable, Sendable {
    /// Seconds that the peer's clock is ahead.
    package let offsetSeconds: TimeInterval
    /// The offset is right to within this many seconds, unless a clock was set since the last round trip.
    package let errorSeconds: TimeInterval
    /// The moment of the peer's clock from which it is known to run steadily: the first round trip, or the first after it was
    /// set. It may have been set before, and an earlier moment may be of that time.
    package let steadySince: Date

    /// A moment on the local clock that the peer's clock showed as `moment`.
    package func local(_ moment: Date) -> Date { moment.addingTimeInterval(-offsetSeconds) }
}

/// The time of a peer's last control by its clock, and of its arrival by the sender's clock: the peer needs both to
/// complete a round trip.
public struct ClockEcho: Hashable, Sendable, Codable {
    /// The peer that the echo is for.
    package var source: SessionSource
    /// By the clock of that peer.
    package var sentAt: Date
    /// By the clock of the echo's sender.
    package var receivedAt: Date

    /// One leg of a round trip.
    package init(source: SessionSource, sentAt: Date, receivedAt: Date) {
        self.source = source
        self.sentAt = sentAt
        self.receivedAt = receivedAt
    }
}

/// The last round trips with one peer.
struct RoundTrips: Sendable {
    private struct Bounds: Sendable {
        var lower: TimeInterval
        var upper: TimeInterval
        /// By the local clock.
        var measuredAt: Date
    }

    private var bounds: [Bounds] = []
    private var steadySince: Date?

    var isEmpty: Bool { bounds.isEmpty && steadySince == nil }

    static let countMax = 8
    /// How fast the distance of two clocks may change.
    static let driftMax = 100e-6
    /// Sums of dates are rounded to fractions of a microsecond.
    private static let roundingSeconds = 1e-6

    /// - Parameters: sent here, received there, sent there, received here; each by the clock of the place.
    /// - Returns: false when only another round trip tells which of two clocks the peer has now.
    @discardableResult
    mutating func add(
        sentHere: Date, receivedThere: Date, sentThere: Date, receivedHere: Date
    ) -> Bool {
        // The upper bound is of the moment at which the round trip began.
        let drift = Self.driftMax * max(0, receivedHere.timeIntervalSince(sentHere))
        let new = Bounds(
            lower: sentThere.timeIntervalSince(receivedHere), upper: receivedThere.timeIntervalSince(sentHere) + drift,
            measuredAt: receivedHere)
        guard new.lower.isFinite, new.upper.isFinite else { return true }
        let kept = remaining(at: receivedHere)
        let (lower, upper) = (max(new.lower, kept?.lower ?? new.lower), min(new.upper, kept?.upper ?? new.upper))
        if lower > upper + 2 * Self.roundingSeconds {
            if let last = bounds.last, sentHere < last.measuredAt { return false }
            bounds = []
            // No moment that the clock has shown before it was set.
            let shown = receivedHere.addingTimeInterval(kept?.upper ?? new.upper)
            steadySince = max(steadySince ?? sentThere, sentThere, shown)
        }
        steadySince = steadySince ?? sentThere
        // Set in the midst of this round trip, which then says nothing of either clock.
        guard new.lower <= new.upper + 2 * Self.roundingSeconds else { return true }
        if bounds.count == Self.countMax { bounds.removeFirst() }
        bounds.append(new)
        return true
    }

    /// What all kept bounds leave at that moment.
    private func remaining(at moment: Date) -> (lower: TimeInterval, upper: TimeInterval)? {
        guard !bounds.isEmpty else { return nil }
        var (lower, upper) = (-TimeInterval.infinity, TimeInterval.infinity)
        for bound in bounds {
            let drift = abs(moment.timeIntervalSince(bound.measuredAt)) * Self.driftMax
            lower = max(lower, bound.lower - drift)
            upper = min(upper, bound.upper + drift)
        }
        return (lower, upper)
    }

    /// - Parameter moment: by the local clock; nil is when the last round trip ended.
    func estimate(at moment: Date?) -> ClockOffsetEstimate? {
        guard let last = bounds.last, let (lower, upper) = remaining(at: moment ?? last.measuredAt), let steadySince
        else { return nil }
        return ClockOffsetEstimate(
            offsetSeconds: (lower + upper) / 2, errorSeconds: max(0, upper - lower) / 2 + Self.roundingSeconds,
            steadySince: steadySince)
    }
}
