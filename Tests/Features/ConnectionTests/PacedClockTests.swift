import MeshIdentity
import Testing

@testable import MeshConnection

@Suite struct PacedClockTests {
    private let ceiling = HybridTimestamp.ceiling.rawValue

    @Test func `It follows stamps up to the ceiling at once, and ignores impossible ones`() {
        var clock = PacedClock()
        clock.observe(HybridTimestamp(rawValue: .max), at: .zero)
        #expect(clock.tick(wallMilliseconds: 1) == HybridTimestamp(milliseconds: 1))
        clock.observe(.ceiling, at: .zero)
        #expect(clock.tick(wallMilliseconds: 1).rawValue == ceiling + 1)
    }

    @Test func `However many messages arrive, it follows by one step per second, and so does another clock`() {
        var (driven, other) = (PacedClock(), PacedClock())
        for second in 0..<100 {
            for _ in 0..<1000 { driven.observe(HybridTimestamp(rawValue: 1 << 63 - 1), at: .seconds(second)) }
        }
        let stamp = driven.tick(wallMilliseconds: 1)
        #expect(stamp.rawValue == ceiling + 100 << 16 + 1)
        for second in 200..<301 { other.observe(stamp, at: .seconds(second)) }
        #expect(other.tick(wallMilliseconds: 1) > stamp)
    }

    @Test func `Clocks beyond the ceiling follow each other's small steps at once`() {
        var clock = PacedClock()
        for step in UInt64(1)...60_000 {
            let stamp = HybridTimestamp(rawValue: ceiling + step)
            clock.observe(stamp, at: .zero)
            guard clock.tick(wallMilliseconds: 1) > stamp else {
                Issue.record("not after \(step) steps")
                return
            }
        }
    }
}
