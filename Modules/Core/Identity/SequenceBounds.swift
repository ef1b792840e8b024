/// Bounds of the numbers that a peer may state: sequences, positions, counts, revisions.
///
/// No sender counts that far, and sums of a few such numbers don't overflow.
public enum SequenceBounds {
    /// 2^53 − 1, which is exact in every language's numbers. What exceeds it is refused.
    @inlinable public static var highest: UInt64 { 1 << 53 - 1 }
    /// 2^48: how far a peer's word moves numbers of ours. It leaves room to go on counting, which others still accept.
    @inlinable public static var hearsay: UInt64 { 1 << 48 }
}

extension SequencePromise {
    /// Whether both of its numbers lie within bounds. A promise from outside that does not is refused.
    @inlinable public var isUsable: Bool { sequence <= SequenceBounds.highest && stamp.isUsable }
}
