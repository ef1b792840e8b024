import Foundation
import MeshBase
import MeshIdentity
import MeshTesting
import Testing

@testable import MeshWire

@Suite struct CompactDeterminismTests {
    struct Unordered: Codable, Equatable {
        var names: [String: Int] = [:]
        var numbers: [Int: String] = [:]
        var reals: [Double: [String: Bool]] = [:]
        var leaves: [Leaf: Set<Leaf>] = [:]
        var set: Set<String> = []
        var inner: [Shape: Set<Int>] = [:]
        var keyed: [NamedKey: [Color: Int]] = [:]
    }

    /// Equal elements are inserted in another order, into tables of another capacity.
    @Test(arguments: 0..<40 as Range<UInt64>, [true, false])
    func `Equal values give equal bytes`(seed: UInt64, direct: Bool) throws {
        let codec = CompactCodec(mode: .deterministic, usesDirectPath: direct)
        var source = SplitMix64(seed: seed)
        let (left, right) = (make(seed, &source), make(seed, &source))
        try #require(left == right, "seed \(seed)")
        let bytes = try codec.encode(left)
        #expect(try codec.encode(right) == bytes, "seed \(seed)")
        #expect(try codec.decode(Unordered.self, from: bytes) == left, "seed \(seed)")
    }

    @Test(arguments: [true, false]) func `NaN and equal decimals each have one form`(direct: Bool) throws {
        struct Numbers: Codable {
            var real: Double
            var single: Float
            var reals: [Double]
            var singles: [Float]
            var decimals: [Decimal]
        }
        let codec = CompactCodec(mode: .deterministic, usesDirectPath: direct)
        let odd = Double(nan: 5, signaling: false)
        let left = Numbers(
            real: .nan, single: .nan, reals: [1, .nan], singles: [.nan],
            decimals: [250, 0, Decimal(string: "1.5") ?? 0])
        let right = Numbers(
            real: -odd, single: -.nan, reals: [1, odd], singles: [Float(nan: 7, signaling: false)],
            decimals: [
                Decimal(sign: .plus, exponent: 1, significand: 25), Decimal(sign: .minus, exponent: 3, significand: 0),
                Decimal(sign: .plus, exponent: -3, significand: 1500),
            ])
        try #require(left.decimals == right.decimals)
        #expect(try codec.encode(left) == codec.encode(right))
    }

    /// A key that is written twice must not bring back the in-memory order.
    @Test(arguments: 0..<20 as Range<UInt64>) func `Irregular values of sets are sorted too`(seed: UInt64) throws {
        struct Irregular: Encodable {
            let value: Unordered

            func encode(to encoder: any Encoder) throws {
                var container = encoder.container(keyedBy: AnyName.self)
                try container.encode(0, forKey: AnyName("value"))
                try container.encode(value, forKey: AnyName("value"))
            }
        }
        let codec = CompactCodec(mode: .deterministic)
        var source = SplitMix64(seed: seed)
        let (left, right) = (make(seed, &source), make(seed, &source))
        #expect(try codec.encode(Irregular(value: left)) == codec.encode(Irregular(value: right)), "seed \(seed)")
    }

    @Test func `The fast mode keeps the order in memory, which differs`() throws {
        var source = SplitMix64(seed: 1)
        let orders = try Set((0..<20).map { _ in try CompactCodec().encode(make(1, &source)) })
        #expect(orders.count > 1)
    }

    private func make(_ seed: UInt64, _ order: inout SplitMix64) -> Unordered {
        let indices = Array(0..<12).shuffled(using: &order)
        var value = Unordered()
        value.names.reserveCapacity(Int(order.next() % 500))
        value.set.reserveCapacity(Int(order.next() % 500))
        value.leaves.reserveCapacity(Int(order.next() % 500))
        for index in indices {
            let number = index &* 31 ^ Int(seed)
            value.names["name \(number)"] = number
            value.numbers[number] = "\(number)"
            value.reals[Double(number) / 3] = ["a": true, "b\(index)": false]
            value.leaves[Leaf(number: number)] = Set(indices.map { Leaf(number: $0) })
            value.set.insert("element \(number)")
            value.inner[.pair(number, "")] = Set(indices)
            value.keyed[index % 2 == 0 ? .first : .second] = [.red: 1, .green: 2]
        }
        return value
    }
}
