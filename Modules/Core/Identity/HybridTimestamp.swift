/// A point on a hybrid logical clock: 48 bits of milliseconds since 1970 and a 16-bit counter.
///
/// Timestamps are compared as one number. Two events of which one was known to the other's author are ordered as they
/// happened, whatever the clocks of the devices said.
///
/// Source: Kulkarni, Demirbas, Madappa, Avva, Leone: *Logical Physical Clocks* (2014). Deviation: a full counter
/// carries into the milliseconds instead of blocking.
public struct HybridTimestamp: Hashable, Comparable, Sendable, Codable {
    /// Milliseconds in the upper 48 bits, the counter in the lower 16. Timestamps are ordered by it.
    public let rawValue: UInt64

    /// Takes any number; `isUsable` tells whether a clock may follow it.
    @inlinable public init(rawValue: UInt64) { self.rawValue = rawValue }

    /// Milliseconds above 2^48 − 1 (the year 10889) are cut down to that.
    @inlinable
    public init(milliseconds: UInt64, counter: UInt16 = 0) {
        rawValue = min(milliseconds, Self.millisecondsMax) << 16 | UInt64(counter)
    }

    public init(from decoder: any Decoder) throws { rawValue = try decoder.singleValueContainer().decode(UInt64.self) }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(rawValue)
    }

    /// No stamp: metadata made by hand.
    @inlinable public static var zero: HybridTimestamp { HybridTimestamp(rawValue: 0) }
    /// The largest number of milliseconds: 2^48 − 1, in the year 10889.
    @inlinable public static var millisecondsMax: UInt64 { (1 << 48) - 1 }

    /// The milliseconds since 1970.
    @inlinable public var milliseconds: UInt64 { rawValue >> 16 }
    /// Tells timestamps of one millisecond apart.
    @inlinable public var counter: UInt16 { UInt16(truncatingIfNeeded: rawValue) }

    /// The next timestamp: the counter carries into the milliseconds. The last one stays the last.
    @inlinable public var successor: HybridTimestamp {
        HybridTimestamp(rawValue: rawValue == .max ? .max : rawValue + 1)
    }

    @inlinable
    public static func < (left: HybridTimestamp, right: HybridTimestamp) -> Bool { left.rawValue < right.rawValue }
}

/// Draws timestamps that exceed everything its owner has seen. A value without a clock of its own: the caller passes
/// the wall time.
///
/// A peer's stamp is taken up to the **ceiling**, far beyond every wall clock. Between the ceiling and the **limit** lies
/// the headroom, in which honest clocks go on that a peer has driven to the ceiling: there a clock follows others by small
/// steps only, so that whatever peers send, it never comes near the limit, at which stamps are refused. A deviation from
/// the paper, which trusts all clocks.
public struct HybridLogicalClock: Sendable, Hashable, Codable {
    @usableFromInline var highest: HybridTimestamp

    private enum CodingKeys: String, CodingKey { case highest = "latest" }

    /// Creates a clock that never goes back behind `latest`.
    ///
    /// - Parameter latest: where an earlier clock stood. One at or beyond the limit was poisoned, and starts at the ceiling.
    @inlinable
    public init(latest: HybridTimestamp = .zero) { highest = latest.isUsable ? latest : .ceiling }

    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        self.init(latest: try container.decode(HybridTimestamp.self, forKey: .highest))
    }

    /// The highest timestamp drawn or seen.
    @inlinable public var latest: HybridTimestamp { highest }

    /// A timestamp for something that happens now. A wall clock beyond the ceiling counts as being there.
    @inlinable
    public mutating func tick(wallMilliseconds: UInt64) -> HybridTimestamp {
        let wall = min(HybridTimestamp(milliseconds: wallMilliseconds), .ceiling)
        highest = wall > highest ? wall : highest.successor
        return highest
    }

    /// Takes note of a timestamp that another peer drew: later ones exceed it, unless it lies in the headroom and more
    /// than 65,536 steps ahead.
    /// - Returns: whether later ones exceed it. Where the newest value wins, one that later ones cannot exceed is not taken.
    @inlinable @discardableResult
    public mutating func observe(_ timestamp: HybridTimestamp) -> Bool {
        guard timestamp.rawValue > highest.rawValue else { return true }
        if timestamp.rawValue <= HybridTimestamp.ceiling.rawValue { highest = timestamp } else { follow(timestamp) }
        return highest.rawValue >= timestamp.rawValue
    }

    @usableFromInline
    mutating func follow(_ timestamp: HybridTimestamp) {
        guard timestamp.isUsable else { return }
        let start = max(highest.rawValue, HybridTimestamp.ceiling.rawValue)
        highest = HybridTimestamp(rawValue: min(timestamp.rawValue, start + HybridTimestamp.stepMax))
    }
}

extension HybridTimestamp {
    /// The year 4199: up to here a clock follows any peer and the wall clock.
    @inlinable public static var ceiling: HybridTimestamp { HybridTimestamp(rawValue: 1 << 62) }
    /// The year 6429: what is stamped at or beyond it is refused.
    @inlinable public static var limit: HybridTimestamp { HybridTimestamp(rawValue: 1 << 63) }

    /// Whether it lies below `limit`. What a peer stamps beyond is refused.
    @inlinable public var isUsable: Bool { rawValue < Self.limit.rawValue }

    /// In the headroom: 2^46 messages of a peer until it is used up.
    static var stepMax: UInt64 { 1 << 16 }

    /// Whether clocks that go by steps can have come there: half of the headroom.
    package var isPlausible: Bool { rawValue < Self.ceiling.rawValue + Self.ceiling.rawValue / 2 }
}
