import Foundation
import MeshBus
import MeshScenarioTransport
import MeshTransport
import Testing

@testable import MeshRequests

@Suite struct AlarmTests {
    @Test func `Calls come when they are due, in order, and not when they are withdrawn`() {
        let network = ScenarioNetwork(seed: 1)
        let clock = CountingClock(network.clock)
        let alarm = Alarm(clock)
        let done = Done()
        let dues = [50, 10, 30, 10, 40, 20]
        let ids = dues.enumerated().map { index, due in
            alarm.set(at: .milliseconds(due)) { done.note(index) }
        }
        alarm.cancel(ids[2])
        network.advance(by: .milliseconds(20))
        #expect(done.all == [1, 3, 5])
        alarm.set(at: .milliseconds(25)) {
            done.note(6)
            alarm.set(at: .milliseconds(26)) { done.note(7) }
        }
        network.advance(by: .milliseconds(100))
        #expect(done.all == [1, 3, 5, 6, 7, 4, 0])
        alarm.set(at: .milliseconds(500)) { done.note(8) }
        alarm.cancelAll()
        network.advance(by: .seconds(1))
        #expect(done.all.count == 7)
    }

    @Test func `A clock that rounds down is taken at its word`() {
        let network = ScenarioNetwork(seed: 1)
        let alarm = Alarm(network.clock)
        let done = Done()
        let half = Duration(secondsComponent: 0, attosecondsComponent: 500_000_000)
        alarm.set(at: .milliseconds(5) + half) { done.note(1) }
        network.advance(by: .milliseconds(6))
        alarm.set(at: .milliseconds(7) + half) { done.note(2) }
        network.advance(by: .milliseconds(6))
        #expect(done.all == [1, 2])
    }

    @Test func `A time that never comes is no trap`() async {
        let alarm = Alarm(SystemClock())
        let isOver = Once<Bool>()
        alarm.set(at: .seconds(Int64.max)) { isOver.resolve(false) }
        alarm.set(at: .zero) { isOver.resolve(true) }
        #expect(await isOver.value())
    }

    @Test func `However many are set, the clock has few calls to make`() {
        let network = ScenarioNetwork(seed: 1)
        let clock = CountingClock(network.clock)
        let alarm = Alarm(clock)
        for due in 1...1000 { alarm.cancel(alarm.set(at: .milliseconds(1000 + due)) {}) }
        #expect(clock.callCount == 1)
    }
}

private final class CountingClock: DeliveryClock {
    private let wrapped: ScenarioClock
    private let count = Locked(0)

    init(_ wrapped: ScenarioClock) { self.wrapped = wrapped }

    var callCount: Int { count.withLock { $0 } }
    var elapsed: Duration { wrapped.elapsed }
    var wall: Date { wrapped.wall }

    func wake(at deadline: Duration, _ body: @escaping @Sendable () -> Void) {
        count.withLock { $0 += 1 }
        wrapped.wake(at: deadline, body)
    }
}
