import MeshBase
public import MeshFoundation
public import MeshTransport
import MeshVirtualTime

/// A clock that moves only when `advance(by:)` is called. Calls that become due run on the thread that moves the clock.
/// May be used on any thread.
public final class ManualClock: DeliveryClock {
    private struct State {
        var elapsed: UInt64 = 0
        var calls = EventQueue<@Sendable () -> Void>()
    }

    private let state = Locked(State())

    /// Creates a clock that stands at 1 January 2026, with no time elapsed.
    public init() {}

    public var elapsed: Duration { Duration(nanoseconds: state.withLock { $0.elapsed }) }
    public var wall: Date { Date(timeIntervalSince1970: 1_767_225_600 + elapsed.seconds) }
    public var passesByItself: Bool { false }

    /// Number of calls that aren't due yet.
    package var pendingCount: Int { state.withLock { $0.calls.count } }

    /// Schedules a call at that time. Complexity: O(log pending calls).
    public func wake(at deadline: Duration, _ body: @escaping @Sendable () -> Void) {
        state.withLock { $0.calls.enter(body, at: deadline.nanoseconds) }
    }

    /// Moves the clock by that time. Complexity: O(log pending calls) for each call that is due.
    public func advance(by duration: Duration) {
        let target = (elapsed + duration).nanoseconds
        while let body = next(until: target) { body() }
        state.withLock { $0.elapsed = max($0.elapsed, target) }
    }

    private func next(until target: UInt64) -> (@Sendable () -> Void)? {
        state.withLock { state in
            guard let due = state.calls.nextTime, due <= target else { return nil }
            state.elapsed = max(state.elapsed, due)
            return state.calls.take()?.event
        }
    }
}

/// A clock based on another one. Its wall time can jump, and its elapsed time can stand still.
final class AdjustableClock: DeliveryClock {
    private typealias Call = (deadline: Duration, body: @Sendable () -> Void)

    private struct State {
        var wallOffset = Duration.zero
        /// The total time during which this clock stood still, by the base clock.
        var lag = Duration.zero
        var heldAt: Duration?
        /// Calls that became due or were scheduled while the clock stood still.
        var waiting: [Call] = []

        func elapsed(_ base: Duration) -> Duration { (heldAt ?? base) - lag }
    }

    private let base: any DeliveryClock
    private let state = Locked(State())

    init(_ base: any DeliveryClock) { self.base = base }

    var elapsed: Duration { state.withLock { $0.elapsed(base.elapsed) } }
    var wall: Date { base.wall.addingTimeInterval(state.withLock { $0.wallOffset }.seconds) }
    var passesByItself: Bool { base.passesByItself }

    func wake(at deadline: Duration, _ body: @escaping @Sendable () -> Void) {
        let lag: Duration? = state.withLock { state in
            guard state.heldAt != nil else { return state.lag }
            state.waiting.append((deadline, body))
            return nil
        }
        guard let lag else { return }
        base.wake(at: deadline + lag) {
            if self.elapsed < deadline { self.wake(at: deadline, body) } else { body() }
        }
    }

    func jump(by duration: Duration) { state.withLock { $0.wallOffset += duration } }

    func hold(_ isHeld: Bool) {
        let now = base.elapsed
        let waiting: [Call] = state.withLock { state in
            if isHeld {
                state.heldAt = state.heldAt ?? now
                return []
            }
            guard let heldAt = state.heldAt.take() else { return [] }
            state.lag += now - heldAt
            defer { state.waiting = [] }
            return state.waiting
        }
        for call in waiting { wake(at: call.deadline, call.body) }
    }
}
