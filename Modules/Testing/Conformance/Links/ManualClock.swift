import MeshBus
public import MeshTransport

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// Time that moves when somebody says so. What is due on the way is called on the thread that moves it. Safe to use from
/// any thread.
public final class ManualClock: DeliveryClock {
    private struct State {
        var elapsed = Duration.zero
        var due: [(deadline: Duration, ticket: Int, body: @Sendable () -> Void)] = []
        var ticketCount = 0
    }

    private let state = Locked(State())

    public init() {}

    public var elapsed: Duration { state.withLock { $0.elapsed } }
    public var wall: Date { Date(timeIntervalSince1970: 1_767_225_600 + elapsed.seconds) }
    public var passesByItself: Bool { false }

    public func wake(at deadline: Duration, _ body: @escaping @Sendable () -> Void) {
        state.withLock { state in
            state.ticketCount += 1
            state.due.append((deadline, state.ticketCount, body))
        }
    }

    /// O(calls that wait) for each call that is due.
    public func advance(by duration: Duration) {
        let target = elapsed + duration
        while let body = next(until: target) { body() }
        state.withLock { $0.elapsed = max($0.elapsed, target) }
    }

    private func next(until target: Duration) -> (@Sendable () -> Void)? {
        state.withLock { state in
            let first = state.due.indices.min {
                (state.due[$0].deadline, state.due[$0].ticket) < (state.due[$1].deadline, state.due[$1].ticket)
            }
            guard let first, state.due[first].deadline <= target else { return nil }
            let (deadline, _, body) = state.due.remove(at: first)
            state.elapsed = max(state.elapsed, deadline)
            return body
        }
    }
}

/// Another clock with a wall that can be moved.
final class AdjustableClock: DeliveryClock {
    private let base: any DeliveryClock
    private let offset = Locked(Duration.zero)

    init(_ base: any DeliveryClock) { self.base = base }

    var elapsed: Duration { base.elapsed }
    var wall: Date { base.wall.addingTimeInterval(offset.withLock { $0 }.seconds) }
    var passesByItself: Bool { base.passesByItself }

    func wake(at deadline: Duration, _ body: @escaping @Sendable () -> Void) { base.wake(at: deadline, body) }
    func jump(by duration: Duration) { offset.withLock { $0 += duration } }
}

extension Duration {
    fileprivate var seconds: Double { Double(components.seconds) + Double(components.attoseconds) / 1e18 }
}
