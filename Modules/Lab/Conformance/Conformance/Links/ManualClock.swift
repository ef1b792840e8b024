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
    private struct Call {
        let deadline: Duration
        let ticket: Int
        let body: @Sendable () -> Void

        static func < (left: Call, right: Call) -> Bool {
            (left.deadline, left.ticket) < (right.deadline, right.ticket)
        }
    }

    private struct State {
        var elapsed = Duration.zero
        /// A binary heap, the earliest first.
        var calls: [Call] = []
        var ticketCount = 0
    }

    private let state = Locked(State())

    public init() {}

    public var elapsed: Duration { state.withLock { $0.elapsed } }
    public var wall: Date { Date(timeIntervalSince1970: 1_767_225_600 + elapsed.seconds) }
    public var passesByItself: Bool { false }

    /// O(log calls that wait).
    public func wake(at deadline: Duration, _ body: @escaping @Sendable () -> Void) {
        state.withLock { state in
            state.ticketCount += 1
            state.calls.append(Call(deadline: deadline, ticket: state.ticketCount, body: body))
            var child = state.calls.count - 1
            while child > 0, state.calls[child] < state.calls[(child - 1) / 2] {
                state.calls.swapAt(child, (child - 1) / 2)
                child = (child - 1) / 2
            }
        }
    }

    /// O(log calls that wait) for each call that is due.
    public func advance(by duration: Duration) {
        let target = elapsed + duration
        while let body = next(until: target) { body() }
        state.withLock { $0.elapsed = max($0.elapsed, target) }
    }

    private func next(until target: Duration) -> (@Sendable () -> Void)? {
        state.withLock { state in
            guard let first = state.calls.first, first.deadline <= target else { return nil }
            state.elapsed = max(state.elapsed, first.deadline)
            let last = state.calls.removeLast()
            guard !state.calls.isEmpty else { return first.body }
            state.calls[0] = last
            var parent = 0
            while true {
                let least = [2 * parent + 1, 2 * parent + 2].filter { $0 < state.calls.count }
                    .min { state.calls[$0] < state.calls[$1] }
                guard let least, state.calls[least] < state.calls[parent] else { return first.body }
                state.calls.swapAt(parent, least)
                parent = least
            }
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
