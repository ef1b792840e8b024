/// A point on a hybrid logical clock: 48 bits of milliseconds since 1970 and a 16-bit counter.
///
/// Timestamps are compared as one number. Two events of which one was known to the other's author are ordered as they
/// happened, whatever the clocks of the devices said.
///
/// Source: Kulkarni, Demirbas, Madappa, Avva, Leone: *Logical Physical Clocks* (2014). Deviation: a full counter
/// carries into the milliseconds instead of blocking.
public struct HybridTimestamp: Hashable, Comparable, Sendable, Codable {
    public let rawValue: UInt64

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
    @inlinable public static var millisecondsMax: UInt64 { (1 << 48) - 1 }

    @inlinable public var milliseconds: UInt64 { rawValue >> 16 }
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
public struct HybridLogicalClock: Sendable, Hashable, Codable {
    @usableFromInline var highest: HybridTimestamp

    private enum CodingKeys: String, CodingKey { case highest = "latest" }

    @inlinable public init(latest: HybridTimestamp = .zero) { highest = latest }

    /// The highest timestamp drawn or seen.
    @inlinable public var latest: HybridTimestamp { highest }

    /// A timestamp for something that happens now.
    @inlinable
    public mutating func tick(wallMilliseconds: UInt64) -> HybridTimestamp {
        let wall = HybridTimestamp(milliseconds: wallMilliseconds)
        highest = wall > highest ? wall : highest.successor
        return highest
    }

    /// Takes note of a timestamp that another peer drew: later ones exceed it.
    @inlinable
    public mutating func observe(_ timestamp: HybridTimestamp) {
        highest = max(highest, timestamp)
    }
}
