import MeshBase
public import MeshFoundation
public import MeshTransport

/// The virtual time of a `SimulatedWatchPair`. Safe to use from any thread.
///
/// Timers run inside `advance(by:)` and `runUntilIdle()`, in order with all other events.
public struct SimulatedWatchClock: DeliveryClock {
    let core: Locked<PairCore>
    let start: Date

    public var elapsed: Duration { Duration(nanoseconds: core.withLock { $0.now }) }
    public var wall: Date { start.addingTimeInterval(Double(core.withLock { $0.now }) / 1_000_000_000) }
    public var passesByItself: Bool { core.withLock { $0.passesByItself } }

    public func wake(at deadline: Duration, _ body: @escaping @Sendable () -> Void) {
        core.withLock { $0.enter(.timer(body), at: max(deadline.nanoseconds, $0.now)) }
    }
}

extension ClosedRange<Duration> {
    /// Draws a time in nanoseconds. Always consumes one random number.
    func draw(_ random: inout SplitMix64) -> UInt64 {
        let least = lowerBound.nanoseconds
        return least + random.upTo(upperBound.nanoseconds - least)
    }
}
