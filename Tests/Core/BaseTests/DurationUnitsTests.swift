import Testing

@testable import MeshBase

@Suite struct DurationUnitsTests {
    @Test(arguments: [0, 1, 999_999_999, 1_000_000_000, 86_400_000_000_001] as [UInt64])
    func `Nanoseconds are converted there and back without loss`(count: UInt64) {
        #expect(Duration(nanoseconds: count).nanoseconds == count)
        #expect(Duration(nanoseconds: count) == .nanoseconds(Int64(count)))
    }

    @Test func `Durations out of range saturate at the bounds`() {
        #expect(Duration.nanoseconds(-1).nanoseconds == 0)
        #expect(Duration.seconds(-1).nanoseconds == 0)
        #expect(Duration.seconds(Int64.max).nanoseconds == 3_155_760_000_000_000_000)
        #expect(Duration(nanoseconds: .max).nanoseconds == 3_155_760_000_000_000_000)
        #expect(Duration.seconds(Int64.max).milliseconds == .max)
        #expect(Duration.seconds(Int64.min).milliseconds == .min)
    }

    @Test func `Milliseconds are rounded toward zero; seconds aren't rounded`() {
        #expect(Duration.microseconds(1999).milliseconds == 1)
        #expect(Duration.microseconds(-1999).milliseconds == -1)
        #expect(Duration.milliseconds(1500).seconds == 1.5)
        #expect(Duration.milliseconds(-1500).seconds == -1.5)
    }
}
