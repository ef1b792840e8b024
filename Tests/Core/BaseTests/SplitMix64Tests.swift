import Testing

@testable import MeshBase

@Suite struct SplitMix64Tests {
    @Test func `The generator gives the published numbers of splitmix64`() {
        var random = SplitMix64(seed: 1_234_567)
        #expect(
            (0..<5).map { _ in random.next() } == [
                6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423,
                4_593_380_528_125_082_431, 16_408_922_859_458_223_821,
            ])
    }

    @Test("Draws stay within their bound and reach both ends", arguments: 0...6 as ClosedRange<UInt64>)
    func draws(most: UInt64) {
        var random = SplitMix64(seed: most)
        let drawn = Set((0..<500).map { _ in random.upTo(most) })
        #expect(drawn == Set(0...most))
    }
}
