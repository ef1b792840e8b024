import MeshIdentity
import Testing

@testable import MeshWire

/// The codec reuses keyed containers. A value that still holds one must not find another record in it.
@Suite struct CompactContainerTests {
    private static let codec = CompactCodec(usesDirectPath: false)

    @Test func `Nested records with the same keys stay separate`() throws {
        let chain = (0..<12).reduce(Chain(value: 0, next: nil)) { Chain(value: $1, next: $0) }
        for _ in 0..<3 {
            let bytes = try Self.codec.encode([chain, chain])
            #expect(try Self.codec.decode([Chain].self, from: bytes) == [chain, chain])
        }
    }

    @Test func `Two nested containers under the same keys, used in turn`() throws {
        let value = Pair(left: [1, 2, 3], right: [4, 5, 6])
        for _ in 0..<3 {
            let bytes = try Self.codec.encode([value, value, value])
            #expect(try Self.codec.decode([Pair].self, from: bytes) == [value, value, value])
        }
    }

    @Test func `A container that outlives its value isn't reused for the next one`() throws {
        for _ in 0..<3 {
            let keeper = Keeper()
            // All of them are kept until the message is complete.
            let values = (0..<4).map { Keeping(value: $0, keeper: keeper) }
            let bytes = try Self.codec.encode(values)
            #expect(keeper.containers.count == 4)
            #expect(try Self.codec.decode([Chain].self, from: bytes).map(\.value) == [0, 1, 2, 3])
            keeper.containers = []
        }
    }

    @Test func `A decoder's container that outlives its value isn't reused for the next one`() throws {
        let bytes = try Self.codec.encode((0..<4).map { Chain(value: $0, next: nil) })
        for _ in 0..<3 {
            let kept = try Self.codec.decode([KeptReader].self, from: bytes)
            #expect(kept.map(\.value) == [0, 1, 2, 3])
        }
    }

    @Test func `A value that uses the codec while it is written`() throws {
        for _ in 0..<3 {
            let value = Inception(depth: 5)
            let bytes = try Self.codec.encode([value, value])
            #expect(try Self.codec.decode([Inception].self, from: bytes) == [value, value])
        }
    }

    @Test func `More key types than a coder remembers`() throws {
        func roundTrip<Tag>(_ tag: Tag.Type, _ depth: Int) throws {
            let value = Tagged<Tag>(first: depth, second: -depth)
            let bytes = try Self.codec.encode([value, value])
            #expect(try Self.codec.decode([Tagged<Tag>].self, from: bytes) == [value, value])
            if depth < 60 { try roundTrip(Tagged<Tag>.self, depth + 1) }
        }
        for _ in 0..<2 { try roundTrip(Int.self, 0) }
    }
}

private final class Chain: Codable, Equatable {
    enum Keys: CodingKey { case value, next, after }
    let value: Int
    let next: Chain?

    init(value: Int, next: Chain?) { (self.value, self.next) = (value, next) }

    func encode(to encoder: any Encoder) throws {
        var fields = encoder.container(keyedBy: Keys.self)
        try fields.encode(value, forKey: .value)
        try fields.encodeIfPresent(next, forKey: .next)
        // The outer container is used again after the inner one.
        try fields.encode(-value, forKey: .after)
    }

    init(from decoder: any Decoder) throws {
        let fields = try decoder.container(keyedBy: Keys.self)
        value = try fields.decode(Int.self, forKey: .value)
        next = try fields.decodeIfPresent(Chain.self, forKey: .next)
        guard try fields.decode(Int.self, forKey: .after) == -value else {
            throw WireError(.invalidValue, "another record's field")
        }
    }

    static func == (left: Chain, right: Chain) -> Bool { left.value == right.value && left.next == right.next }
}

private struct Pair: Codable, Equatable {
    enum Keys: CodingKey { case left, right }
    enum Inner: CodingKey, CaseIterable { case first, second, third }
    let left: [Int]
    let right: [Int]

    init(left: [Int], right: [Int]) { (self.left, self.right) = (left, right) }

    func encode(to encoder: any Encoder) throws {
        var fields = encoder.container(keyedBy: Keys.self)
        var lefts = fields.nestedContainer(keyedBy: Inner.self, forKey: .left)
        var rights = fields.nestedContainer(keyedBy: Inner.self, forKey: .right)
        for (index, key) in Inner.allCases.enumerated() {
            try lefts.encode(left[index], forKey: key)
            try rights.encode(right[index], forKey: key)
        }
    }

    init(from decoder: any Decoder) throws {
        let fields = try decoder.container(keyedBy: Keys.self)
        let lefts = try fields.nestedContainer(keyedBy: Inner.self, forKey: .left)
        let rights = try fields.nestedContainer(keyedBy: Inner.self, forKey: .right)
        var (left, right): ([Int], [Int]) = ([], [])
        for key in Inner.allCases {
            right.append(try rights.decode(Int.self, forKey: key))
            left.append(try lefts.decode(Int.self, forKey: key))
        }
        (self.left, self.right) = (left, right)
    }
}

private final class Keeper {
    var containers: [KeyedEncodingContainer<Chain.Keys>] = []
}

private struct Keeping: Encodable {
    let value: Int
    let keeper: Keeper

    func encode(to encoder: any Encoder) throws {
        var fields = encoder.container(keyedBy: Chain.Keys.self)
        try fields.encode(value, forKey: .value)
        try fields.encode(-value, forKey: .after)
        keeper.containers.append(fields)
    }
}

/// Keeps its container for its own lifetime.
private final class KeptReader: Decodable {
    let fields: KeyedDecodingContainer<Chain.Keys>
    let value: Int

    init(from decoder: any Decoder) throws {
        fields = try decoder.container(keyedBy: Chain.Keys.self)
        value = -(try fields.decode(Int.self, forKey: .after))
        guard try fields.decode(Int.self, forKey: .value) == value else {
            throw WireError(.invalidValue, "another record's field")
        }
    }
}

private struct Inception: Codable, Equatable {
    enum Keys: CodingKey { case depth, inner }
    let depth: Int

    init(depth: Int) { self.depth = depth }

    func encode(to encoder: any Encoder) throws {
        var fields = encoder.container(keyedBy: Keys.self)
        let inner = depth > 0 ? try CompactCodec().encode(Inception(depth: depth - 1)) : []
        try fields.encode(inner, forKey: .inner)
        try fields.encode(depth, forKey: .depth)
    }

    init(from decoder: any Decoder) throws {
        let fields = try decoder.container(keyedBy: Keys.self)
        let inner = try fields.decode([UInt8].self, forKey: .inner)
        let below = inner.isEmpty ? nil : try CompactCodec().decode(Inception.self, from: inner).depth
        depth = try fields.decode(Int.self, forKey: .depth)
        guard below.map({ $0 == depth - 1 }) ?? (depth == 0) else {
            throw WireError(.invalidValue, "another message's field")
        }
    }
}

private struct Tagged<Tag>: Codable, Equatable {
    var first: Int
    var second: Int
}
