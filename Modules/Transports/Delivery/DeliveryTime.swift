import MeshBase
import MeshFoundation
import MeshTransport

/// A moment in the core's time.
struct DeliveryTime: Hashable {
    /// Nanoseconds of a monotonic clock.
    var elapsed: UInt64
    /// Milliseconds since 1970: the wall clock's time when the transport was made, advanced by the monotonic clock.
    var wall: UInt64
}

extension DeliveryTime {
    init(_ clock: any DeliveryClock, _ steady: SteadyClock) {
        elapsed = clock.elapsed.nanoseconds
        let milliseconds = steady.now.timeIntervalSince1970 * 1000
        wall = milliseconds > 0 && milliseconds < 1e15 ? UInt64(milliseconds) : 0
    }
}
