public import MeshIdentity

/// What one source promised about its future events, and which of it counts.
///
/// "Nothing more from me at or below `stamp` beyond `sequence`" counts once everything up to `sequence` is held; until
/// then it waits. At most 8 wait: the middle ones are dropped, since a later promise says more.
@usableFromInline
struct PromiseTable: Sendable {
    @usableFromInline var usable = HybridTimestamp.zero
    @usableFromInline var pending: [SequencePromise] = []

    static let pendingMax = 8

    init() {}

    @inlinable
    mutating func take(_ promise: SequencePromise, held: UInt64) {
        guard promise.isUsable else { return }
        if promise.sequence <= held {
            if promise.stamp.rawValue > usable.rawValue { usable = promise.stamp }
        } else {
            wait(promise)
        }
    }

    @usableFromInline
    mutating func wait(_ promise: SequencePromise) {
        let place = pending.firstIndex { $0.sequence >= promise.sequence } ?? pending.count
        if place < pending.count, pending[place].sequence == promise.sequence {
            pending[place].stamp = max(pending[place].stamp, promise.stamp)
        } else {
            pending.insert(promise, at: place)
        }
        if pending.count > Self.pendingMax { pending.remove(at: Self.pendingMax / 2) }
    }

    /// More is held now.
    @inlinable
    mutating func settle(held: UInt64) {
        while let first = pending.first, first.sequence <= held {
            if first.stamp.rawValue > usable.rawValue { usable = first.stamp }
            pending.removeFirst()
        }
    }
}
