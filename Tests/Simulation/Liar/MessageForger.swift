import Foundation
import MeshBase
import MeshTesting

/// A forger of messages for any feature: it parses a payload as JSON, and replaces numbers, texts and lists in it.
///
/// The forger knows no types, so it also covers features that are added later.
struct MessageForger {
    private(set) var random: SplitMix64

    /// Numbers at and near the limits of counters, tables and integer arithmetic.
    private static let numbers: [UInt64] =
        [0, 65, 257, 1 << 16 + 1, 1 << 31 - 1, 1 << 31, 1 << 32 - 1, 1 << 40, 1 << 53 - 1, 1 << 53, 1 << 63, .max]
    private static let reals: [Double] = [0, -1, -1e300, 1e300, 1e-300, -978_307_200, 9.3e15]
    private static let texts = ["", "phone", "tablet", "watch", "nobody", "Infinity", "NaN", "\u{0}", "/.."]
    private static let bytesMax = 60_000

    /// An encoder that sorts keys. Otherwise their order would change the compressed size of a message, and the size
    /// would change the rest of the run.
    private static let encoder: JSONEncoder = {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        return encoder
    }()

    init(seed: UInt64) { random = SplitMix64(seed: seed) }

    /// Returns a forged copy of a JSON payload.
    /// - Returns: nil if the bytes aren't JSON, or if the forged copy is too large.
    mutating func forged(_ bytes: [UInt8]) -> [UInt8]? {
        guard var tree = try? JSONDecoder().decode(JSONTree.self, from: Data(bytes)) else { return nil }
        for _ in 0...random.upTo(2) {
            // Counting and forging visit the same elements of long lists, because both draw from copies of `sample`.
            var seeds = random
            let sample = SplitMix64(seed: seeds.next())
            // Most rules are about numbers.
            let kind = random.happens(rate: 0.7) && tree.count(of: .numbers, sample) > 0 ? JSONTree.Kind.numbers : .all
            var (place, visited) = (random.below(tree.count(of: kind, sample)), sample)
            forge(&tree, at: &place, among: kind, &visited)
        }
        guard let forged = try? Self.encoder.encode(tree), forged.count <= Self.bytesMax else { return nil }
        return [UInt8](forged)
    }

    /// - Parameter place: The number of nodes of that kind before the one to forge, in preorder. Counted down to -1,
    ///   which means forged.
    private mutating func forge(
        _ tree: inout JSONTree, at place: inout Int, among kind: JSONTree.Kind, _ sample: inout SplitMix64
    ) {
        if tree.isOf(kind) {
            place -= 1
            if place < 0 {
                tree = substitute(for: tree)
                return
            }
        }
        switch tree {
        case .list(var elements) where tree.isCounted(kind):
            for index in JSONTree.places(in: elements, &sample) where place >= 0 {
                forge(&elements[index], at: &place, among: kind, &sample)
            }
            tree = .list(elements)
        case .record(var fields):
            for name in fields.keys.sorted() where place >= 0 {
                guard var field = fields[name] else { continue }
                forge(&field, at: &place, among: kind, &sample)
                fields[name] = field
            }
            tree = .record(fields)
        case .null, .bool, .natural, .integer, .real, .text, .list: return
        }
    }

    private mutating func substitute(for tree: JSONTree) -> JSONTree {
        switch tree {
        case .null: .natural(number(near: 0))
        case .bool(let value): .bool(!value)
        case .natural(let value): .natural(number(near: value))
        case .integer(let value): random.happens(rate: 0.5) ? .integer(value == .min ? 0 : -value) : .natural(.max)
        case .real(let value): .real(random.happens(rate: 0.3) ? value + 1 : random.element(Self.reals))
        case .text(let value): .text(text(near: value))
        case .list(let elements): .list(list(near: elements))
        case .record(let fields): .record(record(near: fields))
        }
    }

    private mutating func number(near known: UInt64) -> UInt64 {
        switch random.below(6) {
        case 0: known &+ 1
        case 1: known &- 1
        case 2: known &+ 1 << UInt64(random.below(64))
        default: random.element(Self.numbers)
        }
    }

    private mutating func text(near known: String) -> String {
        switch random.below(4) {
        case 0: String(repeating: known.isEmpty ? "a" : known, count: 1 + 2_000 / max(1, known.utf8.count))
        case 1: String(known.dropLast(1 + random.below(4)))
        case 2: String(known.shuffled(using: &random))
        default: random.element(Self.texts)
        }
    }

    private mutating func record(near known: [String: JSONTree]) -> [String: JSONTree] {
        var fields = known
        if !known.isEmpty { fields[random.element(known.keys.sorted())] = nil }
        return fields
    }

    private mutating func list(near known: [JSONTree]) -> [JSONTree] {
        switch random.below(4) {
        case 0: []
        case 1: known + known
        case 2: known.reversed()
        default: known.isEmpty ? [] : Array(repeating: random.element(known), count: random.element([1, 17, 65, 257]))
        }
    }
}

/// A JSON value of any shape.
private indirect enum JSONTree: Codable {
    case null
    case bool(Bool)
    case natural(UInt64)
    case integer(Int64)
    case real(Double)
    case text(String)
    case list([JSONTree])
    case record([String: JSONTree])

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if container.decodeNil() {
            self = .null
        } else if let value = try? container.decode(Bool.self) {
            self = .bool(value)
        } else if let value = try? container.decode(UInt64.self) {
            self = .natural(value)
        } else if let value = try? container.decode(Int64.self) {
            self = .integer(value)
        } else if let value = try? container.decode(Double.self) {
            self = .real(value)
        } else if let value = try? container.decode(String.self) {
            self = .text(value)
        } else if let value = try? container.decode([JSONTree].self) {
            self = .list(value)
        } else {
            self = .record(try container.decode([String: JSONTree].self))
        }
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .null: try container.encodeNil()
        case .bool(let value): try container.encode(value)
        case .natural(let value): try container.encode(value)
        case .integer(let value): try container.encode(value)
        case .real(let value): try container.encode(value)
        case .text(let value): try container.encode(value)
        case .list(let value): try container.encode(value)
        case .record(let value): try container.encode(value)
        }
    }

    /// Maximum number of elements of a list that are forged individually.
    static let elementsMax = 8

    /// The kind of nodes to count.
    enum Kind {
        case all, numbers
    }

    func isOf(_ kind: Kind) -> Bool {
        switch (kind, self) {
        case (.all, _), (.numbers, .natural), (.numbers, .integer), (.numbers, .real): true
        case (.numbers, _): false
        }
    }

    /// True if the elements of this list are forged individually. False for a list of bytes if only numbers are forged,
    /// because the message's own fields aren't in it. True for every value that isn't a list.
    func isCounted(_ kind: Kind) -> Bool {
        guard kind == .numbers, case .list(let elements) = self else { return true }
        return !elements.allSatisfy { if case .natural(...255) = $0 { true } else { false } }
    }

    /// Returns all indices of a short list, but few of a long one. Otherwise lists of bytes would be forged most often.
    static func places(in elements: [JSONTree], _ sample: inout SplitMix64) -> [Int] {
        guard elements.count > elementsMax else { return Array(elements.indices) }
        return (0..<elementsMax).map { _ in sample.below(elements.count) }
    }

    /// Returns the number of nodes that a forger visits with this sample.
    func count(of kind: Kind, _ sample: SplitMix64) -> Int {
        var sample = sample
        return count(of: kind, drawing: &sample)
    }

    private func count(of kind: Kind, drawing sample: inout SplitMix64) -> Int {
        var count = isOf(kind) ? 1 : 0
        switch self {
        case .list(let elements) where isCounted(kind):
            for index in Self.places(in: elements, &sample) {
                count += elements[index].count(of: kind, drawing: &sample)
            }
        case .record(let fields):
            for (_, field) in fields.sorted(by: { $0.key < $1.key }) {
                count += field.count(of: kind, drawing: &sample)
            }
        case .null, .bool, .natural, .integer, .real, .text, .list: break
        }
        return count
    }
}
