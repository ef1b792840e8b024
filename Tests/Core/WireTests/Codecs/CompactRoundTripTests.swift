import Foundation
import MeshIdentity
import MeshTesting
import Testing

@testable import MeshWire

@Suite struct CompactRoundTripTests {
    static let codecs = [
        CompactCodec(), CompactCodec(mode: .deterministic), CompactCodec(usesDirectPath: false),
        CompactCodec(mode: .deterministic, usesDirectPath: false),
    ]

    @Test("Every value of the zoo comes back as it was", arguments: CodableZoo.specimens)
    func zoo(_ specimen: Specimen) throws {
        for codec in Self.codecs { try specimen.visit(RoundTrip(codec: codec)) }
    }

    @Test("A value inside a record, a list and an optional comes back too", arguments: CodableZoo.specimens)
    func nestedZoo(_ specimen: Specimen) throws {
        for codec in Self.codecs { try specimen.visit(NestedRoundTrip(codec: codec)) }
    }

    @Test("Every codec reads what the other forms wrote", arguments: CodableZoo.specimens)
    func crossZoo(_ specimen: Specimen) throws {
        for writer in Self.codecs {
            for reader in Self.codecs { try specimen.visit(CrossTrip(writer: writer, reader: reader)) }
        }
    }

    @Test func `NaN keeps its bits`() throws {
        let value = Double(nan: 0x1234, signaling: false)
        let back = try CompactCodec().decode(Double.self, from: CompactCodec().encode(value))
        #expect(back.bitPattern == value.bitPattern)
    }

    @Test func `Names are written once a message`() throws {
        let bytes = try CompactCodec(usesDirectPath: false).encode([Leaf](repeating: Leaf(), count: 100))
        let text = String(decoding: bytes, as: UTF8.self)
        #expect(text.components(separatedBy: "number").count == 2)
    }

    @Test func `A field name that two types share is written once`() throws {
        struct Other: Codable { var number = 1 }
        struct Both: Codable {
            var a = Leaf()
            var b = Other()
        }
        let bytes = try CompactCodec(usesDirectPath: false).encode(Both())
        #expect(String(decoding: bytes, as: UTF8.self).components(separatedBy: "number").count == 2)
    }

    @Test(arguments: [true, false]) func `Repeated strings are written once`(direct: Bool) throws {
        let codec = CompactCodec(usesDirectPath: direct)
        let values = (0..<500).map { "string number \($0 % 250)" }
        let bytes = try codec.encode(values)
        #expect(bytes.count < 250 * 20 + 250 * 4)
        #expect(try codec.decode([String].self, from: bytes) == values)
    }

    @Test func `More strings and names than a message can number are restored`() throws {
        let values = Dictionary(uniqueKeysWithValues: (0..<6000).map { ("key \($0)", "value \($0 / 2)") })
        for codec in Self.codecs {
            #expect(try codec.decode([String: String].self, from: codec.encode(values)) == values)
        }
    }

    @Test func `An array of doubles takes eight bytes each`() throws {
        let bytes = try CompactCodec().encode([Double](repeating: 1.5, count: 100))
        #expect(bytes.count == 802)
    }

    @Test func `Envelopes and snapshots make the round trip`() throws {
        let metadata = SessionSyncMetadata(
            sessionID: UUID(), featureID: "workout", sourcePeerID: "watch", sequence: 7,
            causalTimestamp: SamplePayloads.start, payloadType: "event")
        let envelope = SessionSyncEnvelope(metadata: metadata, payload: SamplePayloads.event())
        let snapshot = SessionSyncSnapshot(
            metadata: metadata, revision: 3, state: SamplePayloads.workout(), peerSequenceVector: ["watch": 7])
        for codec in Self.codecs {
            #expect(try codec.decode(type(of: envelope), from: codec.encode(envelope)) == envelope)
            #expect(try codec.decode(type(of: snapshot), from: codec.encode(snapshot)) == snapshot)
        }
    }

    @Test func `One codec serves many tasks at once`() async throws {
        let codec = CompactCodec(usesDirectPath: false)
        try await withThrowingTaskGroup(of: Bool.self) { group in
            for seed in 0..<64 as Range<UInt64> {
                group.addTask {
                    let workout = SamplePayloads.workout(seed: seed)
                    return try codec.decode(SampleWorkout.self, from: codec.encode(workout)) == workout
                }
            }
            for try await isSame in group { #expect(isSame) }
        }
    }

    @Test func `A codec used inside a value's own encoding does not disturb the message`() throws {
        struct Outer: Codable, Equatable {
            var leaf = Leaf()

            init() {}
            func encode(to encoder: any Encoder) throws {
                var container = encoder.unkeyedContainer()
                try container.encode(Data(try CompactCodec().encode(leaf)))
                try container.encode(leaf)
            }
            init(from decoder: any Decoder) throws {
                var container = try decoder.unkeyedContainer()
                leaf = try CompactCodec().decode(Leaf.self, from: [UInt8](container.decode(Data.self)))
                #expect(try container.decode(Leaf.self) == leaf)
            }
        }
        #expect(try CompactCodec().decode(Outer.self, from: CompactCodec().encode(Outer())) == Outer())
    }
}

private struct RoundTrip: SpecimenVisitor {
    let codec: CompactCodec

    func visit<Value: Codable & Equatable & Sendable>(_ value: Value) throws {
        let bytes = try codec.encode(value)
        #expect(try codec.decode(Value.self, from: bytes) == value)
    }
}

private struct NestedRoundTrip: SpecimenVisitor {
    struct Around<Value: Codable & Equatable>: Codable, Equatable {
        var before = "before"
        var value: Value
        var list: [Value]
        var optional: Value?
        var absent: Value?
        var after = "before"
    }

    let codec: CompactCodec

    func visit<Value: Codable & Equatable & Sendable>(_ value: Value) throws {
        let around = Around(value: value, list: [value, value], optional: value)
        #expect(try codec.decode(Around<Value>.self, from: codec.encode(around)) == around)
    }
}

private struct CrossTrip: SpecimenVisitor {
    let writer: CompactCodec
    let reader: CompactCodec

    func visit<Value: Codable & Equatable & Sendable>(_ value: Value) throws {
        #expect(try reader.decode(Value.self, from: writer.encode(value)) == value)
    }
}
