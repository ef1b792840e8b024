import MeshTransport

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A moment, as the core is told it.
struct DeliveryTime: Hashable {
    /// Nanoseconds of a clock that never jumps.
    var elapsed: UInt64
    /// Milliseconds since 1970 by a clock that may.
    var wall: UInt64
}

extension DeliveryTime {
    init(_ clock: any DeliveryClock) {
        elapsed = clock.elapsed.nanoseconds
        let milliseconds = clock.wall.timeIntervalSince1970 * 1000
        wall = milliseconds > 0 && milliseconds < 1e15 ? UInt64(milliseconds) : 0
    }
}

extension Duration {
    /// Whole nanoseconds: 0 for negative durations, at most a hundred years.
    var nanoseconds: UInt64 {
        let (seconds, attoseconds) = components
        guard seconds >= 0, attoseconds >= 0 else { return 0 }
        return UInt64(min(seconds, 3_155_760_000)) * 1_000_000_000 + UInt64(attoseconds / 1_000_000_000)
    }
}
