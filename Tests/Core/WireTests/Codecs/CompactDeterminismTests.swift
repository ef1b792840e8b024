import Foundation
import MeshBus
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

    /// The same elements, put in another order into tables of another capacity.
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
