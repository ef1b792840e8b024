import Foundation
import MeshIdentity
import Testing

@Suite struct HybridClockTests {
    @Test func `A timestamp is 48 bits of milliseconds and a counter`() {
        let stamp = HybridTimestamp(milliseconds: 0x1234_5678_9ABC, counter: 0xDEF0)
        #expect(stamp.rawValue == 0x1234_5678_9ABC_DEF0)
        #expect(stamp.milliseconds == 0x1234_5678_9ABC)
        #expect(stamp.counter == 0xDEF0)
        #expect(HybridTimestamp(milliseconds: .max) == HybridTimestamp(milliseconds: HybridTimestamp.millisecondsMax))
    }

    @Test func `A full counter carries into the milliseconds, and the largest stamp stays the largest`() {
        let full = HybridTimestamp(milliseconds: 5, counter: .max)
        #expect(full.successor == HybridTimestamp(milliseconds: 6))
        #expect(full < full.successor)
        #expect(HybridTimestamp(rawValue: .max).successor == HybridTimestamp(rawValue: .max))
    }

    /// Every sequence of six steps: the wall clock stands, advances or jumps back, or stamps of others arrive.
    @Test func `A drawn stamp exceeds all drawn and seen stamps, whatever the wall clock does`() {
        let walls: [UInt64] = [0, 9, 10, 11]
        let others = [HybridTimestamp.zero, HybridTimestamp(milliseconds: 10, counter: 3), .init(milliseconds: 12)]
        let choices = walls.count + others.count
        for sequence in 0..<Int(pow(Double(choices), 6)) {
            var clock = HybridLogicalClock()
            var highest = HybridTimestamp.zero
            var rest = sequence
            for _ in 0..<6 {
                let choice = rest % choices
                rest /= choices
                if choice < walls.count {
                    let drawn = clock.tick(wallMilliseconds: walls[choice])
                    guard drawn > highest, drawn.milliseconds >= walls[choice] else {
                        Issue.record("\(drawn) after \(highest), sequence \(sequence)")
                        return
                    }
                    highest = drawn
                } else {
                    clock.observe(others[choice - walls.count])
                    highest = max(highest, others[choice - walls.count])
                }
            }
            guard clock.latest == highest else {
                Issue.record("the clock says \(clock.latest) instead of \(highest), sequence \(sequence)")
                return
            }
        }
    }

    /// The largest stamps that a peer can send, then a million more. Afterwards our next stamp is still accepted, exceeds our
    /// earlier ones, and others still follow it.
    @Test func `A peer's largest stamps don't use up a clock`() {
        var clock = HybridLogicalClock()
        for raw in [1 << 62 - 1, 1 << 62, 1 << 62 + 1, 1 << 63 - 1, 1 << 63, .max - 1, .max] as [UInt64] {
            let before = clock.latest
            clock.observe(HybridTimestamp(rawValue: raw))
            #expect(clock.latest >= before)
            #expect(clock.tick(wallMilliseconds: 0).isUsable)
        }
        for _ in 0..<1_000_000 { clock.observe(HybridTimestamp(rawValue: HybridTimestamp.limit.rawValue - 1)) }
        let drawn = clock.tick(wallMilliseconds: .max)
        #expect(drawn.rawValue < HybridTimestamp.ceiling.rawValue + 1 << 37)
        var other = HybridLogicalClock(latest: HybridTimestamp(rawValue: drawn.rawValue - 1))
        other.observe(drawn)
        #expect(other.latest == drawn)
    }

    @Test func `A wall clock beyond the ceiling stays within the range that others accept`() {
        var clock = HybridLogicalClock()
        #expect(clock.tick(wallMilliseconds: .max) == .ceiling)
        #expect(clock.tick(wallMilliseconds: .max) == HybridTimestamp.ceiling.successor)
    }

    @Test func `A stored poisoned clock recovers, and a healthy one continues`() throws {
        for raw in [1 << 63, .max] as [UInt64] {
            #expect(HybridLogicalClock(latest: HybridTimestamp(rawValue: raw)).latest == .ceiling)
            let stored = Data(#"{"latest":\#(raw)}"#.utf8)
            #expect(try JSONDecoder().decode(HybridLogicalClock.self, from: stored).latest == .ceiling)
        }
        let healthy = HybridLogicalClock(latest: HybridTimestamp(rawValue: 1 << 62 + 12_345_678))
        #expect(try JSONDecoder().decode(HybridLogicalClock.self, from: JSONEncoder().encode(healthy)) == healthy)
    }

    @Test func `A stamp is one number in JSON`() throws {
        let stamp = HybridTimestamp(rawValue: .max)
        #expect(try JSONEncoder().encode([stamp]) == Data("[18446744073709551615]".utf8))
        #expect(try JSONDecoder().decode([HybridTimestamp].self, from: Data("[7]".utf8)) == [.init(rawValue: 7)])
    }

    @Test(
        "Dates become milliseconds without trapping",
        arguments: [
            (0, 0), (-1, 0), (1.5, 1500), (0.0019, 1), (-.infinity, 0), (.nan, 0),
            (.infinity, HybridTimestamp.millisecondsMax), (1e300, HybridTimestamp.millisecondsMax),
        ] as [(TimeInterval, UInt64)])
    func milliseconds(seconds: TimeInterval, expected: UInt64) {
        #expect(Date(timeIntervalSince1970: seconds).millisecondsSince1970 == expected)
    }
}
