/// A point on a hybrid logical clock: 48 bits of milliseconds since 1970 and a 16-bit counter.
///
/// Timestamps are compared as one number. An event has a higher timestamp than every event that its author knew,
/// whatever the devices' clocks showed.
///
/// Source: Kulkarni, Demirbas, Madappa, Avva, Leone: *Logical Physical Clocks* (2014). Deviation: a full counter
/// carries into the milliseconds instead of blocking.
public struct HybridTimestamp: Hashable, Comparable, Sendable, Codable {
    /// The milliseconds in the upper 48 bits, the counter in the lower 16. Determines the order.
    public let rawValue: UInt64

    /// Creates a timestamp from any number; `isUsable` is true if a clock may follow it.
    @inlinable public init(rawValue: UInt64) { self.rawValue = rawValue }

    /// Creates a timestamp from its two parts. Milliseconds above 2^48 − 1 (the year 10889) are clamped to that.
    @inlinable
    public init(milliseconds: UInt64, counter: UInt16 = 0) {
        rawValue = min(milliseconds, Self.millisecondsMax) << 16 | UInt64(counter)
    }

    public init(from decoder: any Decoder) throws { rawValue = try decoder.singleValueContainer().decode(UInt64.self) }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(rawValue)
    }

    /// The stamp of metadata that an app makes itself.
    @inlinable public static var zero: HybridTimestamp { HybridTimestamp(rawValue: 0) }
    /// Maximum number of milliseconds: 2^48 − 1, in the year 10889.
    @inlinable public static var millisecondsMax: UInt64 { (1 << 48) - 1 }

    /// The milliseconds since 1970.
    @inlinable public var milliseconds: UInt64 { rawValue >> 16 }
    /// The number that distinguishes timestamps of one millisecond.
    @inlinable public var counter: UInt16 { UInt16(truncatingIfNeeded: rawValue) }

    /// The next timestamp: a full counter carries into the milliseconds. The last timestamp is its own successor.
    @inlinable public var successor: HybridTimestamp {
        HybridTimestamp(rawValue: rawValue == .max ? .max : rawValue + 1)
    }

    @inlinable
    public static func < (left: HybridTimestamp, right: HybridTimestamp) -> Bool { left.rawValue < right.rawValue }
}

/// A clock whose timestamps exceed all that its owner has seen. The caller passes the wall time: the clock is a value
/// without a time source.
///
/// The clock follows a peer's stamp up to the **ceiling**, which is far beyond every real wall clock. The range from
/// the ceiling to the **limit** is the headroom. If a peer has driven honest clocks to the ceiling, they continue
/// counting in the headroom. There, a clock follows other clocks only in small steps, so no peer can drive it near the
/// limit. Stamps at or beyond the limit are refused. This deviates from the paper, which trusts all clocks (rule 14 of
/// Docs/Internals/Convergence.md).
public struct HybridLogicalClock: Sendable, Hashable, Codable {
    @usableFromInline var highest: HybridTimestamp

    private enum CodingKeys: String, CodingKey { case highest = "latest" }

    /// Creates a clock whose timestamps are later than `latest`.
    ///
    /// - Parameter latest: the last timestamp of an earlier clock. If it is at or beyond the limit, a peer has poisoned
    ///   that clock, and this one starts at the ceiling.
    @inlinable
    public init(latest: HybridTimestamp = .zero) { highest = latest.isUsable ? latest : .ceiling }

    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        self.init(latest: try container.decode(HybridTimestamp.self, forKey: .highest))
    }

    /// The highest timestamp generated or seen.
    @inlinable public var latest: HybridTimestamp { highest }

    /// Returns a timestamp for the present. A wall clock beyond the ceiling counts as the ceiling.
    @inlinable
    public mutating func tick(wallMilliseconds: UInt64) -> HybridTimestamp {
        let wall = min(HybridTimestamp(milliseconds: wallMilliseconds), .ceiling)
        highest = wall > highest ? wall : highest.successor
        return highest
    }

    /// Follows a peer's timestamp, so that later ones exceed it. In the headroom it follows by at most 65,536 steps.
    /// - Returns: true if later timestamps exceed it. If false, don't accept a value for which the newest wins: no
    ///   local one could replace it.
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
    /// The highest timestamp to which one stamp of a peer, or the wall clock, can move a clock. It is in the year 4199.
    @inlinable public static var ceiling: HybridTimestamp { HybridTimestamp(rawValue: 1 << 62) }
    /// The lowest timestamp that is refused, in the year 6429.
    @inlinable public static var limit: HybridTimestamp { HybridTimestamp(rawValue: 1 << 63) }

    /// True if the timestamp is below `limit`. Others are refused.
    @inlinable public var isUsable: Bool { rawValue < Self.limit.rawValue }

    /// Maximum number of steps by which one message moves a clock in the headroom. Using up the headroom takes 2^46
    /// messages.
    static var stepMax: UInt64 { 1 << 16 }

    /// True if the timestamp is below the middle of the headroom. Clocks that follow in steps don't get that far.
    package var isPlausible: Bool { rawValue < Self.ceiling.rawValue + Self.ceiling.rawValue / 2 }
}
