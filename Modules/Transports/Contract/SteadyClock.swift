package import MeshFoundation

/// A clock that never jumps: the wall clock's time at its creation, advanced by the elapsed time.
package struct SteadyClock: Sendable {
    /// The current wall clock, which may have been set since this clock was created.
    package let wall: @Sendable () -> Date
    private let uptime: @Sendable () -> Duration
    private let start: (wall: Date, uptime: Duration)

    /// - Parameter uptime: the time of a monotonic clock, which also runs while the device sleeps.
    package init(wall: @escaping @Sendable () -> Date, uptime: @escaping @Sendable () -> Duration) {
        (self.wall, self.uptime) = (wall, uptime)
        start = (wall(), uptime())
    }

    package init(_ clock: any DeliveryClock) { self.init(wall: { clock.wall }, uptime: { clock.elapsed }) }

    package var now: Date { start.wall.addingTimeInterval((uptime() - start.uptime) / .seconds(1)) }
}
