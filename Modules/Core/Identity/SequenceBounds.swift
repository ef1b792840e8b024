/// The bounds of numbers that a peer may state: sequences, positions, counts, revisions.
///
/// No sender counts this far, and sums of a few such numbers don't overflow.
public enum SequenceBounds {
    /// 2^53 − 1, which is exact in every language's numbers. Larger numbers are refused.
    @inlinable public static var highest: UInt64 { 1 << 53 - 1 }
    /// 2^48: the highest value to which a peer's message moves a local number. Counting can continue beyond it, and
    /// peers accept the result.
    @inlinable public static var hearsay: UInt64 { 1 << 48 }
}

extension SequencePromise {
    /// True if both numbers are within bounds. Other promises are refused.
    @inlinable public var isUsable: Bool { sequence <= SequenceBounds.highest && stamp.isUsable }
}
