import Foundation
import MeshBase
import MeshConnection
import MeshTransport
import Testing

@Suite struct RetryTimerTests {
    @Test func `The earliest requested call is made, and later ones are scheduled again`() {
        let (clock, count) = (HandClock(), Locked(0))
        var timer: RetryTimer? = RetryTimer(clock) { count.withLock { $0 += 1 } }
        timer?.wake(at: nil)
        #expect(clock.times == [])
        for seconds in [4, 9, 4, 2] { timer?.wake(at: .seconds(seconds)) }
        #expect(clock.times == [.seconds(4), .seconds(2)])
        clock.call(.seconds(2))
        #expect(count.withLock { $0 } == 1)
        timer?.wake(at: .seconds(9))
        clock.call(.seconds(4))
        timer?.wake(at: .seconds(9))
        #expect(clock.times == [.seconds(9)], "the call at 4 s did not end the one that is planned")
        timer = nil
        clock.call(.seconds(9))
        #expect(count.withLock { $0 } == 2, "the timer was released")
    }
}

/// A clock whose calls are made by the test.
private final class HandClock: DeliveryClock {
    private let calls = Locked<[(time: Duration, body: @Sendable () -> Void)]>([])

    let wall = Date(timeIntervalSince1970: 1_000)
    let elapsed = Duration.zero

    var times: [Duration] { calls.withLock { $0.map(\.time) } }

    func wake(at time: Duration, _ body: @escaping @Sendable () -> Void) {
        calls.withLock { $0.append((time, body)) }
    }

    func call(_ time: Duration) {
        let due = calls.withLock { calls in
            defer { calls.removeAll { $0.time == time } }
            return calls.filter { $0.time == time }
        }
        for call in due { call.body() }
    }
}
