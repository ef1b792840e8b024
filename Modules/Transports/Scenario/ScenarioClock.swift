import MeshBase
public import MeshFoundation
public import MeshTransport

/// Virtual time as one peer of a `ScenarioNetwork` sees it. It is equal for all peers, except for their wall clocks.
///
/// Timers run inside `advance(by:)` and `runUntilIdle()`, in one order with the deliveries, on the thread that calls
/// them. Safe to use from any thread.
public struct ScenarioClock: DeliveryClock {
    let core: Locked<NetworkCore>
    let start: Date
    /// The peer's ID; nil for a clock that is always right.
    let peerID: String?

    public var elapsed: Duration { Duration(nanoseconds: core.withLock { $0.now }) }

    public var wall: Date {
        let (now, offset) = core.withLock { core in
            let member = peerID.flatMap { core.knownMember($0) }
            return (core.now, member.map { core.members[$0].clockOffset } ?? .zero)
        }
        return start.addingTimeInterval(Double(now) / 1_000_000_000 + offset.seconds)
    }

    /// False: only `advance(by:)` and `runUntilIdle()` move it.
    public var passesByItself: Bool { false }

    public func wake(at deadline: Duration, _ body: @escaping @Sendable () -> Void) {
        core.withLock { $0.wake(at: deadline.nanoseconds, body) }
    }
}
