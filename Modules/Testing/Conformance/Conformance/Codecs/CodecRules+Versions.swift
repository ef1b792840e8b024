import Foundation
import MeshIdentity

extension CodecConformance {
    /// Rules about messages between two versions of an app.
    static let versionRules: [ConformanceRule<CodecBench>] = [
        ConformanceRule("codec.versions.unknown-fields", "Fields that a reader doesn't know are skipped") { bench in
            let newer = NewerWorkout(
                added: ["a": [1, 2]], name: "run", nested: .init(more: [nil, "x"], kept: 7), last: true)
            let read = try bench.skewed(newer, as: OlderWorkout.self)
            try requireEqual(read, OlderWorkout(name: "run", nested: .init(kept: 7), last: true), "the older version")
        },
        ConformanceRule("codec.versions.missing-optional", "An optional that was never written is nil") { bench in
            let older = OlderWorkout(name: "run", nested: .init(kept: 7), last: false)
            let read = try bench.skewed(older, as: ReadingWorkout.self)
            try requireEqual(read, ReadingWorkout(name: "run", added: nil, last: false), "the newer version")
        },
        ConformanceRule("codec.versions.missing-field", "A missing required field is an error") { bench in
            do {
                _ = try bench.skewed(["unrelated": 1], as: OlderWorkout.self)
            } catch {
                return
            }
            throw ConformanceFailure("nothing was thrown")
        },
        ConformanceRule("codec.versions.unknown-case", "A case that a reader doesn't know is an error") { bench in
            do {
                _ = try bench.skewed([NewerTap.finish(reason: "rain")], as: [OlderTap].self)
            } catch {
                return
            }
            throw ConformanceFailure("nothing was thrown")
        },
        ConformanceRule("codec.versions.order", "Fields can be read in any order") { bench in
            let read = try bench.skewed(Forwards(first: 1, second: "b", third: [3]), as: Backwards.self)
            try requireEqual("\(read.first) \(read.second) \(read.third)", "1 b [3]", "the fields")
        },
    ]
}

// MARK: - Versions

struct OlderWorkout: Codable, Equatable {
    struct Nested: Codable, Equatable { var kept: Int }

    var name: String
    var nested: Nested
    var last: Bool
}

private struct NewerWorkout: Codable {
    struct Nested: Codable {
        var more: [String?]
        var kept: Int
    }

    var added: [String: [Int]]
    var name: String
    var nested: Nested
    var last: Bool
}

private struct ReadingWorkout: Codable, Equatable {
    var name: String
    var added: [String: Int]?
    var last: Bool
}

private enum OlderTap: Codable {
    case start
    case pause(at: Date)
}
private enum NewerTap: Codable {
    case start
    case pause(at: Date)
    case finish(reason: String)
}

private struct Forwards: Codable {
    var first: Int
    var second: String
    var third: [Int]
}

private struct Backwards: Decodable {
    let first: Int
    let second: String
    let third: [Int]

    private enum CodingKeys: String, CodingKey { case first, second, third }

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        third = try container.decode([Int].self, forKey: .third)
        second = try container.decode(String.self, forKey: .second)
        first = try container.decode(Int.self, forKey: .first)
    }
}
