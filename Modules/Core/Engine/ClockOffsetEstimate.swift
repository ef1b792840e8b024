package import MeshFoundation

/// The time by which a peer's clock is ahead of the local one, estimated from round trips of control messages.
///
/// A message can't arrive before it was sent, so each round trip gives bounds of the offset that hold for any delays.
/// The bounds of the last 8 round trips leave an interval. Its middle is the estimate, and half its length the stated
/// error. Both clocks drift, so a bound widens by 100 parts per million of its age.
///
/// If a round trip's bounds contradict the kept ones, one of the clocks was set, and the kept bounds are discarded. A
/// round trip that began before the last kept one ended proves nothing, because it may be from before the clock was
/// set. A clock that is set by less than the interval's length causes no contradiction. The estimate then follows
/// within 8 round trips.
///
/// Source: Mills, *Internet Time Synchronization: the Network Time Protocol* (1991); Cristian, *Probabilistic Clock
/// Synchronization* (1989); the intersection is Marzullo's (1984). Deviation: no filter and no discipline.
public struct ClockOffsetEstimate: Hashable, Sendable {
    /// Number of seconds that the peer's clock is ahead.
    package let offsetSeconds: TimeInterval
    /// Maximum error of the offset in seconds, unless a clock was set since the last round trip.
    package let errorSeconds: TimeInterval
    /// The time since which the peer's clock is known to run steadily, by that clock: the first round trip, or the
    /// first after it was set. An earlier moment may be from before the clock was set.
    package let steadySince: Date

    /// The moment on the local clock at which the peer's clock showed `moment`.
    package func local(_ moment: Date) -> Date { moment.addingTimeInterval(-offsetSeconds) }
}

/// The time at which a peer sent its last control, by its clock, and the time of arrival, by the echo sender's clock.
/// The peer needs both to complete a round trip.
public struct ClockEcho: Hashable, Sendable, Codable {
    /// The peer that the echo is for.
    package var source: SessionSource
    /// The time of the control, by the clock of that peer.
    package var sentAt: Date
    /// The time of arrival, by the clock of the echo's sender.
    package var receivedAt: Date

    /// Creates one leg of a round trip.
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
        /// The end of the round trip, by the local clock.
        var measuredAt: Date
    }

    private var bounds: [Bounds] = []
    private var steadySince: Date?

    var isEmpty: Bool { bounds.isEmpty && steadySince == nil }

    static let countMax = 8
    /// Maximum drift between two clocks, in seconds per second.
    static let driftMax = 100e-6
    /// Tolerance in seconds, because sums of dates are rounded to fractions of a microsecond.
    private static let roundingSeconds = 1e-6

    /// Adds a round trip. Parameters that end in `Here` are by the local clock, those that end in `There` by the
    /// peer's.
    /// - Returns: false if the bounds contradict the kept ones, but this round trip may be from before a clock was set.
    ///   The next round trip decides.
    @discardableResult
    mutating func add(
        sentHere: Date, receivedThere: Date, sentThere: Date, receivedHere: Date
    ) -> Bool {
        // The upper bound dates from the beginning of the round trip, and the clocks have drifted since.
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
            // An upper bound of the times that the peer's clock can have shown before it was set.
            let shown = receivedHere.addingTimeInterval(kept?.upper ?? new.upper)
            steadySince = max(steadySince ?? sentThere, sentThere, shown)
        }
        steadySince = steadySince ?? sentThere
        // If a clock was set during this round trip, its bounds prove nothing.
        guard new.lower <= new.upper + 2 * Self.roundingSeconds else { return true }
        if bounds.count == Self.countMax { bounds.removeFirst() }
        bounds.append(new)
        return true
    }

    /// The interval that all kept bounds leave at that moment; nil if there are none.
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

    /// - Parameter moment: by the local clock; nil means the end of the last round trip.
    func estimate(at moment: Date?) -> ClockOffsetEstimate? {
        guard let last = bounds.last, let (lower, upper) = remaining(at: moment ?? last.measuredAt), let steadySince
        else { return nil }
        return ClockOffsetEstimate(
            offsetSeconds: (lower + upper) / 2, errorSeconds: max(0, upper - lower) / 2 + Self.roundingSeconds,
            steadySince: steadySince)
    }
}
