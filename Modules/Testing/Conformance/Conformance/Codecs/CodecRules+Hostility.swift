import Foundation
import MeshIdentity

extension CodecConformance {
    /// Rules about damaged bytes: decoding must end in a value or an error.
    static let hostilityRules: [ConformanceRule<CodecBench>] = [
        ConformanceRule("codec.bytes.truncated", "Truncated bytes are an error, at any length") { bench in
            let whole = try bench.codec.encode(SamplePayloads.track(count: 2))
            for end in 0..<whole.count {
                let cut = Array(whole[..<end])
                try require(
                    (try? bench.codec.decode(SampleTrack.self, from: cut)) == nil,
                    "the first \(end) of \(whole.count) bytes were read as the whole")
            }
        },
        ConformanceRule("codec.bytes.trailing", "Bytes after the value are an error") { bench in
            let bytes = try bench.codec.encode(SamplePayloads.event())
            for byte in [0, 1, 0x7F, 0xFF] as [UInt8] {
                try require(
                    (try? bench.codec.decode(SampleEvent.self, from: bytes + [byte])) == nil,
                    "a byte \(byte) behind the value went unnoticed")
            }
        },
        ConformanceRule(
            "codec.bytes.changed", "A changed byte gives an error or a valid value"
        ) { bench in
            let whole = try bench.codec.encode(OlderWorkout(name: "Saturday", nested: .init(kept: 7), last: true))
            for index in whole.indices {
                for change in 1...255 as ClosedRange<UInt8> {
                    var changed = whole
                    changed[index] ^= change
                    guard let value = try? bench.codec.decode(OlderWorkout.self, from: changed) else { continue }
                    try requireEqual(
                        bench.travelled(value), value, "what was read after byte \(index) had changed")
                }
            }
        },
        ConformanceRule("codec.bytes.foreign", "Bytes of another type give a value or an error") { bench in
            let foreign = try [
                bench.codec.encode(SamplePayloads.track(count: 2)), bench.codec.encode([[1], [2]]),
                bench.codec.encode("text"), bench.codec.encode(["a": ["b": 1.5]]), [],
            ]
            for bytes in foreign {
                try require(
                    (try? bench.codec.decode(SampleWorkout.self, from: bytes)) == nil,
                    "a foreign value became a workout")
                _ = try? bench.codec.decode([String: Int].self, from: bytes)
                _ = try? bench.codec.decode(SampleEvent.self, from: bytes)
            }
        },
        ConformanceRule("codec.bytes.narrow", "A number that doesn't fit the type is an error") { bench in
            let bytes = try bench.codec.encode(["value": 300])
            try require(
                (try? bench.codec.decode([String: UInt8].self, from: bytes)) == nil, "300 became an 8-bit number")
            let negative = try bench.codec.encode(["value": -1])
            try require(
                (try? bench.codec.decode([String: UInt].self, from: negative)) == nil, "-1 became unsigned")
        },
        ConformanceRule("codec.concurrent", "Several tasks can use one codec at once") { bench in
            let expected = try bench.codec.encode(SamplePayloads.metrics())
            try await withThrowingTaskGroup(of: Void.self) { group in
                for seed in 0..<8 as Range<UInt64> {
                    group.addTask {
                        for round in 0..<10 as Range<UInt64> {
                            try bench.requireSurvives(SamplePayloads.workout(seed: seed * 10 + round))
                            try requireEqual(
                                bench.codec.encode(SamplePayloads.metrics()), expected, "the bytes of one value")
                        }
                    }
                }
                try await group.waitForAll()
            }
        },
    ]
}
