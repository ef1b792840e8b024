import MeshIdentity
import Testing

@Suite struct StableHashTests {
    @Test(
        "Texts hash to the published values of MurmurHash3 x64 128",
        arguments: [
            ("", "00000000000000000000000000000000"),
            ("hello", "cbd8a7b341bd9b025b1e906a48ae1d19"),
            ("hello, world", "342fac623a5ebc8e4cdcbc079642414d"),
            ("19 Jan 2038 at 3:14:07 AM", "b89e5988b737affc664fc2950231b2cb"),
            ("The quick brown fox jumps over the lazy dog.", "cd99481f9ee902c9695da1a38987b6e7"),
        ])
    func publishedValues(text: String, expected: String) {
        #expect(StableHash(Array(text.utf8)).description == expected)
    }

    /// SMHasher's verification: hashes keys of every length up to 255, and then hashes the results.
    @Test func `All lengths up to 255 verify as SMHasher says`() {
        var hashes: [UInt8] = []
        for length in 0..<256 {
            let key = (0..<length).map { UInt8($0) }
            let hash = key.withUnsafeBytes { StableHash($0, seed: UInt64(256 - length)) }
            for word in [hash.low, hash.high] {
                withUnsafeBytes(of: word.littleEndian) { hashes += $0 }
            }
        }
        #expect(UInt32(truncatingIfNeeded: StableHash(hashes).low) == 0x6384_BA69)
    }
}
