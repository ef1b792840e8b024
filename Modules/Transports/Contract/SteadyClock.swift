#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// A device's wall clock as it was read once, and from there on the time that has passed: to set the wall clock moves nothing.
package struct SteadyClock: Sendable {
    /// The wall clock, which may have been set meanwhile.
    package let wall: @Sendable () -> Date
    private let uptime: @Sendable () -> Duration
    private let start: (wall: Date, uptime: Duration)

    /// - Parameters:
    ///   - uptime: counts sleep, and never jumps.
    ///   - origin: what an earlier clock that went by the same uptime showed at zero; nil reads the wall clock.
    package init(
        wall: @escaping @Sendable () -> Date, uptime: @escaping @Sendable () -> Duration, origin: Date? = nil
    ) {
        (self.wall, self.uptime) = (wall, uptime)
        start = origin.map { ($0, .zero) } ?? (wall(), uptime())
    }

    package init(_ clock: any DeliveryClock) { self.init(wall: { clock.wall }, uptime: { clock.elapsed }) }

    package var now: Date { start.wall.addingTimeInterval((uptime() - start.uptime) / .seconds(1)) }

    /// The moment that it showed at an uptime of zero.
    package var origin: Date { start.wall.addingTimeInterval(-(start.uptime / .seconds(1))) }
}
