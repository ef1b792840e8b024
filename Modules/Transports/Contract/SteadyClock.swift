package import MeshFoundation

/// A device's wall clock as it was found, and from there on the time that has passed: to set the wall clock moves nothing.
package struct SteadyClock: Sendable {
    /// The wall clock, which may have been set meanwhile.
    package let wall: @Sendable () -> Date
    private let uptime: @Sendable () -> Duration
    private let start: (wall: Date, uptime: Duration)

    /// - Parameter uptime: counts sleep, and never jumps.
    package init(wall: @escaping @Sendable () -> Date, uptime: @escaping @Sendable () -> Duration) {
        (self.wall, self.uptime) = (wall, uptime)
        start = (wall(), uptime())
    }

    package init(_ clock: any DeliveryClock) { self.init(wall: { clock.wall }, uptime: { clock.elapsed }) }

    package var now: Date { start.wall.addingTimeInterval((uptime() - start.uptime) / .seconds(1)) }
}
