import MeshBase
import MeshBenchmarks
import MeshFixtures
import Testing

@testable import MeshCodecBenchmark

@Suite("Capacity under a limit")
struct CapacityTests {
    @Test("the largest count is found for even sizes, whatever the sample and the limit")
    func even() {
        for head in [0, 1, 57, 1_000] {
            for perSample in [1, 2, 7, 74, 240] {
                for limit in [0, 1, 56, 57, 1_200, 1_472, 65_507, 262_144] {
                    var calls = 0
                    let count = Capacity.largestCount(within: limit) { count in
                        calls += 1
                        return head + count * perSample
                    }
                    #expect(
                        count == max((limit - head) / perSample, 0), "head \(head), sample \(perSample), limit \(limit)"
                    )
                    #expect(calls <= 30)
                }
            }
        }
    }

    @Test("uneven sizes cost steps but don't change the answer")
    func uneven() {
        let shapes: [(Int) -> Int] = [
            { $0 < 500 ? $0 : 500 + ($0 - 500) * 90 },
            { $0 < 500 ? $0 * 90 : 45_000 + ($0 - 500) },
            { $0 * $0 },
            { Int(Double($0).squareRoot() * 300) },
            { ($0 / 100) * 5_000 },
        ]
        for (index, size) in shapes.enumerated() {
            for limit in stride(from: 0, through: 60_000, by: 997) {
                var calls = 0
                let count = Capacity.largestCount(within: limit) { count in
                    calls += 1
                    return size(count)
                }
                #expect(
                    size(count) <= limit && size(count + 1) > limit, "shape \(index), limit \(limit), count \(count)")
                #expect(calls <= 60)
            }
        }
    }

    @Test("sizes that do not grow end the search")
    func constant() {
        #expect(Capacity.largestCount(within: 10) { _ in 10 } >= 64)
        #expect(Capacity.largestCount(within: 9) { _ in 10 } == 0)
    }

    @Test("a size fits, or takes as many frames as pieces")
    func frames() throws {
        let limits = [limit("small", 100), limit("large", 1_000)]
        for bytes in 1...2_000 {
            let size = CodecSize(limits: limits, bytes: bytes)
            #expect(size.fits == ["small": bytes <= 100, "large": bytes <= 1_000])
            #expect(size.frames.count == 2)
            for (id, count) in size.frames {
                let room = id == "small" ? 100 : 1_000
                #expect(count >= 1 && (count == 1) == (bytes <= room), "\(bytes) bytes in \(count) frames of \(id)")
                #expect(count * room >= bytes)
            }
        }
    }

    @Test("no number of frames is reported if none suffices")
    func noFrames() {
        let size = CodecSize(limits: [limit("tiny", 63), limit("small", 64), limit("enough", 10_000)], bytes: 200_000)
        #expect(size.frames == ["enough": 21])
        #expect(size.fits == ["tiny": false, "small": false, "enough": false])
    }

    @Test("capacity is measured, and estimated above a mebibyte")
    func capacity() throws {
        let limits = [limit("udp", 1_200), limit("mqtt", 268_435_455)]
        let samples = BenchmarkPayload.Samples(count: 50) { Array(repeating: UInt64(7), count: $0) }
        let size = CodecSize(limits: limits, bytes: 20 + 50 * 8)
        var largest = 0
        let capacity = try size.capacity(of: samples) { (value: [UInt64]) in
            largest = max(largest, value.count)
            return 20 + value.count * 8
        }
        #expect(capacity == ["udp": (1_200 - 20) / 8, "mqtt": (268_435_455 - 20) / 8])
        #expect(largest < 100_000, "nothing of that size is made")
        #expect(try size.capacity(of: nil) { (_: [UInt64]) in 0 } == [:])
    }

    private func limit(_ id: String, _ bytes: Int) -> PayloadLimit {
        PayloadLimit(id: id, bytes: bytes, summary: "", source: "")
    }
}
