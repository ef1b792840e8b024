import MeshBase
import MeshFoundation
import MeshTransport

/// A moment, as the core is told it.
struct DeliveryTime: Hashable {
    /// Nanoseconds of a clock that never jumps.
    var elapsed: UInt64
    /// Milliseconds since 1970, as the wall clock showed them when the transport was made, and from there on as time passes.
    var wall: UInt64
}

extension DeliveryTime {
    init(_ clock: any DeliveryClock, _ steady: SteadyClock) {
        elapsed = clock.elapsed.nanoseconds
        let milliseconds = steady.now.timeIntervalSince1970 * 1000
        wall = milliseconds > 0 && milliseconds < 1e15 ? UInt64(milliseconds) : 0
    }
}
