import Foundation
import MeshBus
import MeshIdentity
import MeshTesting
import Testing

@testable import MeshWire

@Suite struct CBORRoundTripTests {
    /// All but the levels of nested optionals, which CBOR's one null does not tell apart.
    static let specimens: [Specimen] = CodableZoo.specimens.filter {
        !$0.name.contains("Optional<Optional<") && $0.name != "Optional<BoxedNil>"
    }

    @Test("Every value of the zoo comes back as it was, and is written the same again", arguments: specimens)
    func zoo(_ specimen: Specimen) throws { try specimen.visit(RoundTrip()) }

    @Test func `NaN keeps its bits`() throws {
        let codec = CBORCodec()
        for bits in [0x7ff8_0000_0000_1234, 0xfff8_0000_2000_0000, 0x7ff4_0000_0000_0000, 0x7ff8_0400_0000_0000]
            as [UInt64]
        {
            let bytes = try codec.encode([Double(bitPattern: bits)])
            #expect(try codec.decode([Double].self, from: bytes)[0].bitPattern == bits)
        }
    }

    @Test func `Every half is written as one, and every single as no more than a single`() throws {
        for half in UInt16.min...UInt16.max {
            let double = CBORFloat.double(half: half)
            let single = try #require(CBORFloat.single(double))
            #expect(CBORFloat.half(single) == half)
            #expect(CBORFloat.double(single: single) == double)
        }
        var source = SplitMix64(seed: 3)
        for _ in 0..<2000 {
            let single = UInt32(truncatingIfNeeded: source.next())
            #expect(CBORFloat.single(CBORFloat.double(single: single)) == single, "\(single)")
            if let half = CBORFloat.half(single) {
                #expect(CBORFloat.double(half: half) == CBORFloat.double(single: single), "\(single)")
            }
        }
    }

    @Test func `Decimals come back at their ends, and equal ones are equal bytes`() throws {
        let codec = CBORCodec()
        for text in [
            "0", "-1", "1.5", "0.1", "18446744073709551615", "18446744073709551616", "-18446744073709551616",
            "-18446744073709551617", "340282366920938463463374607431768211455", "1e127", "-1e-127", "3.14159265358979",
        ] {
            let decimal = try #require(Decimal(string: text))
            #expect(try codec.decode([Decimal].self, from: codec.encode([decimal])) == [decimal], "\(text)")
        }
        let (short, long) = (Decimal(sign: .plus, exponent: 1, significand: 25), Decimal(250))
        #expect(try codec.encode(short) == codec.encode(long))
        #expect(try codec.decode(Decimal.self, from: codec.encode(Decimal.nan)).isNaN)
        for decimal in [Decimal.greatestFiniteMagnitude, -Decimal.greatestFiniteMagnitude] {
            #expect(try codec.decode(Decimal.self, from: codec.encode(decimal)) == decimal)
        }
    }

    @Test(arguments: 0..<20 as Range<UInt64>)
    func `Equal values give equal bytes, whatever the order in memory`(seed: UInt64) throws {
        var source = SplitMix64(seed: seed)
        let numbers = (0..<12).map { $0 &* 31 ^ Int(seed) }
        let values = (0..<2).map { _ in
            var value = CompactDeterminismTests.Unordered()
            value.names.reserveCapacity(Int(source.next() % 500))
            value.set.reserveCapacity(Int(source.next() % 500))
            for number in numbers.shuffled(using: &source) {
                value.names["name \(number)"] = number
                value.numbers[number] = "\(number)"
                value.reals[Double(number) / 3] = ["a": true, "b\(number)": false]
                value.leaves[Leaf(number: number)] = Set(numbers.map { Leaf(number: $0) })
                value.set.insert("element \(number)")
                value.inner[.pair(number, "")] = Set(numbers)
                value.keyed[.first] = [.red: 1, .green: 2]
            }
            return value
        }
        let bytes = try values.map { try CBORCodec().encode($0) }
        #expect(bytes[0] == bytes[1], "seed \(seed)")
        #expect(try CBORCodec().decode(type(of: values[0]), from: bytes[0]) == values[0], "seed \(seed)")
    }

    @Test func `A key that is encoded twice has the later value`() throws {
        struct Twice: Encodable {
            enum Keys: CodingKey { case a, b }
            func encode(to encoder: any Encoder) throws {
                var container = encoder.container(keyedBy: Keys.self)
                try container.encode(1, forKey: .a)
                try container.encode(0, forKey: .b)
                try container.encode(2, forKey: .a)
            }
        }
        #expect(try CBORCodec().encode(Twice()).hexadecimalText == "a26161026162 00".filter { $0 != " " })
    }

    @Test func `A value that is encoded as two, or as nothing`() throws {
        struct Two: Encodable {
            func encode(to encoder: any Encoder) throws {
                var container = encoder.singleValueContainer()
                try container.encode(1)
                try container.encode(2)
            }
        }
        struct Nothing: Encodable { func encode(to encoder: any Encoder) {} }
        expect(.encodingFailed) { _ = try CBORCodec().encode([Two()]) }
        #expect(try CBORCodec().encode([Nothing()]).hexadecimalText == "81a0")
    }
}

private struct RoundTrip: SpecimenVisitor {
    private struct Around<Value: Codable & Equatable>: Codable, Equatable {
        var before = "before"
        var value: Value
        var list: [Value]
        var after = 1
    }

    func visit<Value: Codable & Equatable & Sendable>(_ value: Value) throws {
        let codec = CBORCodec()
        let bytes = try codec.encode(value)
        let back = try codec.decode(Value.self, from: bytes)
        #expect(back == value)
        #expect(try codec.encode(back) == bytes)
        let around = Around(value: value, list: [value, value])
        #expect(try codec.decode(Around<Value>.self, from: codec.encode(around)) == around)
    }
}
