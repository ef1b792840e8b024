#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// How much a peer's clock is ahead of the local one, from round trips of controls.
///
/// A message cannot arrive before it was sent: each round trip gives bounds that hold whatever the delays were, and half
/// their distance is the stated error. The tightest of the last 8 round trips counts, so that an estimate follows a
/// clock that was set.
///
/// Source: Mills, *Internet Time Synchronization: the Network Time Protocol* (1991); Cristian, *Probabilistic Clock
/// Synchronization* (1989). Deviation: no filter and no discipline, only the tightest bounds.
public struct ClockOffsetEstimate: Hashable, Sendable {
    /// Seconds that the peer's clock is ahead.
    public let offsetSeconds: TimeInterval
    /// The offset is right to within this many seconds, unless a clock was set in between.
    public let errorSeconds: TimeInterval

    /// A moment on the local clock that the peer's clock showed as `moment`.
    public func local(_ moment: Date) -> Date { moment.addingTimeInterval(-offsetSeconds) }
}

/// When a peer sent its last control, by its clock, and when that arrived, by the sender's clock: what the peer needs
/// to complete a round trip.
public struct ClockEcho: Hashable, Sendable, Codable {
    /// The peer that the echo is for.
    public var source: SessionSource
    /// By the clock of that peer.
    public var sentAt: Date
    /// By the clock of the echo's sender.
    public var receivedAt: Date

    /// One leg of a round trip.
    public init(source: SessionSource, sentAt: Date, receivedAt: Date) {
        self.source = source
        self.sentAt = sentAt
        self.receivedAt = receivedAt
    }
}

/// The last round trips with one peer.
struct RoundTrips: Sendable {
    private var bounds: [(lower: TimeInterval, upper: TimeInterval)] = []

    static let countMax = 8

    /// - Parameters: sent here, received there, sent there, received here; each by the clock of the place.
    mutating func add(sentHere: Date, receivedThere: Date, sentThere: Date, receivedHere: Date) {
        let upper = receivedThere.timeIntervalSince(sentHere)
        let lower = sentThere.timeIntervalSince(receivedHere)
        guard lower.isFinite, upper.isFinite, lower <= upper else { return }
        if bounds.count == Self.countMax { bounds.removeFirst() }
        bounds.append((lower, upper))
    }

    var estimate: ClockOffsetEstimate? {
        guard let best = bounds.min(by: { $0.upper - $0.lower < $1.upper - $1.lower }) else { return nil }
        return ClockOffsetEstimate(
            offsetSeconds: (best.lower + best.upper) / 2, errorSeconds: (best.upper - best.lower) / 2)
    }
}
