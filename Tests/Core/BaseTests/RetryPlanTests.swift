import MeshBase
import Testing

struct RetryPlanTests {
    private var plan = RetryPlan(from: .seconds(2), to: .seconds(300))

    /// Makes attempts until the next one is 300 seconds away.
    private mutating func failOften() -> Duration {
        var now = Duration.zero
        for wait in [2, 4, 8, 16, 32, 64, 128, 256, 300, 300] {
            #expect(plan.plan(at: now) == now + .seconds(wait))
            now += .seconds(wait)
            #expect(plan.takeDue(at: now) == true)
        }
        return now
    }

    @Test mutating func `Each attempt doubles the wait, up to the longest`() {
        _ = failOften()
        #expect(plan.dueAt == nil)
    }

    @Test mutating func `One attempt is planned at a time, and none is made early or twice`() {
        #expect(plan.takeDue(at: .seconds(1000)) == false)
        #expect(plan.plan(at: .zero) == .seconds(2))
        #expect(plan.plan(at: .seconds(1)) == nil)
        #expect(plan.dueAt == .seconds(2))
        #expect(plan.takeDue(at: .milliseconds(1999)) == false)
        #expect(plan.takeDue(at: .seconds(2)) == true)
        #expect(plan.takeDue(at: .seconds(2)) == false)
    }

    @Test mutating func `An attempt that is minutes away is brought forward when the peer comes back`() {
        let now = failOften()
        #expect(plan.plan(at: now) == now + .seconds(300))
        #expect(plan.bringForward(at: now + .seconds(10)) == now + .seconds(12))
        #expect(plan.takeDue(at: now + .seconds(11)) == false)
        #expect(plan.takeDue(at: now + .seconds(12)) == true)
        #expect(plan.plan(at: .zero) == .seconds(2))
    }

    @Test mutating func `A peer that comes back again and again doesn't put the attempt off`() {
        plan.plan(at: .zero)
        #expect(plan.bringForward(at: .seconds(1)) == nil)
        #expect(plan.dueAt == .seconds(2))
    }

    @Test mutating func `A peer that comes back while nothing is planned shortens the wait alone`() {
        let now = failOften()
        #expect(plan.bringForward(at: now) == nil)
        #expect(plan.dueAt == nil)
        #expect(plan.plan(at: now) == now + .seconds(2))
    }

    @Test mutating func `A success resets the wait, and a cancelled attempt doesn't lengthen it`() {
        let now = failOften()
        plan.plan(at: now)
        plan.cancel()
        #expect(plan.plan(at: now) == now + .seconds(300))
        plan.reset()
        #expect(plan.dueAt == nil)
        #expect(plan.plan(at: now) == now + .seconds(2))
        plan.restart(dueAt: now)
        #expect(plan.takeDue(at: now) == true)
        #expect(plan.plan(at: now) == now + .seconds(4))
    }

    @Test func `A random part of up to half of each wait is left out`() {
        var random = SplitMix64(seed: 1)
        var backoff = Backoff(from: .milliseconds(100), to: .seconds(30))
        var longest = Duration.milliseconds(100)
        for _ in 0..<20 {
            #expect(backoff.wait == longest)
            let wait = backoff.next(&random)
            #expect(wait <= longest && wait >= longest / 2)
            longest = min(longest * 2, .seconds(30))
        }
        backoff.reset()
        #expect(backoff.next(&random) <= .milliseconds(100))
    }
}
