import Foundation
import MeshBase
import MeshIdentity
import Testing

@testable import MeshWire

@Suite("Metadata on the wire")
struct MetadataTests {
    @Test("every field is restored to the bit", arguments: 0..<20 as Range<UInt64>)
    func roundTrip(seed: UInt64) throws {
        var generator = SplitMix64(seed: seed)
        for capacity in [0, 4, 63] {
            var writing = InterningTable(capacity: capacity)
            var reading = InterningTable(capacity: capacity)
            for _ in 0..<100 {
                let metadata = SessionSyncMetadata.chance(using: &generator)
                var writer = WireWriter()
                if let change = writer.write(metadata, interning: &writing) { writing.apply(change, from: metadata) }
                var reader = WireReader(writer.bytes)
                let read = try reader.readMetadata(interning: &reading)
                let isAtEnd = reader.isAtEnd
                #expect(isAtEnd)
                #expect(read.essence == metadata.essence, "seed \(seed)")
                #expect(Array(read.sourcePeerID.utf8) == Array(metadata.sourcePeerID.utf8))
            }
        }
    }

    @Test("times are exact at every edge of a double")
    func edges() throws {
        let edges: [Double] = [
            0, -0.0, 1, -1, .infinity, -.infinity, .nan, .signalingNaN, -.nan, .leastNonzeroMagnitude,
            .greatestFiniteMagnitude, -.greatestFiniteMagnitude, 781_692_800.123, -978_307_200,
            Double(Sample.milliseconds) / 1000 - 978_307_200,
        ]
        let stamps: [UInt64] = [0, 1, Sample.milliseconds << 16, .max]
        for stamp in stamps {
            var writing = InterningTable(capacity: 2)
            var reading = InterningTable(capacity: 2)
            for causal in edges {
                for monotonic in edges {
                    var metadata = Sample.metadata()
                    metadata.stamp = HybridTimestamp(rawValue: stamp)
                    metadata.causalTimestamp = Date(timeIntervalSinceReferenceDate: causal)
                    metadata.monotonicTimestamp = monotonic
                    var writer = WireWriter()
                    if let change = writer.write(metadata, interning: &writing) {
                        writing.apply(change, from: metadata)
                    }
                    var reader = WireReader(writer.bytes)
                    let read = try reader.readMetadata(interning: &reading)
                    #expect(read.essence == metadata.essence, "\(stamp) \(causal) \(monotonic)")
                }
            }
        }
    }

    @Test("a time near the stamp is short")
    func shortTimes() {
        let stamp = HybridTimestamp(milliseconds: Sample.milliseconds)
        func bytes(_ seconds: Double) -> Int {
            var metadata = Sample.metadata()
            metadata.stamp = stamp
            metadata.causalTimestamp = Date(timeIntervalSince1970: seconds)
            metadata.monotonicTimestamp = nil
            metadata.promise = nil
            var writer = WireWriter()
            writer.write(metadata, tableOf: 0)
            return writer.count
        }
        let seconds = Double(Sample.milliseconds) / 1000
        let least = bytes(seconds)
        #expect(bytes(seconds + 0.1) <= least + 2)
        #expect(bytes(seconds + 15) <= least + 3)
        #expect(bytes(seconds - 3600) <= least + 5)
        #expect(bytes(-1e300) == least + 7)
    }

    @Test("a UUID in canonical spelling takes 17 bytes and keeps its case")
    func identifiers() throws {
        let upper = "2F1E4B7C-9D03-4A68-B5C2-71E8D4F6A090"
        let cases: [(String, Int)] = [
            (upper, 17), (upper.lowercased(), 17), ("00000000-0000-0000-0000-000000000000", 17),
            ("2f1E4B7C-9D03-4A68-B5C2-71E8D4F6A090", 37), ("2F1E4B7C-9D03-4A68-B5C2-71E8D4F6A09G", 37),
            ("2F1E4B7C09D03-4A68-B5C2-71E8D4F6A090", 37), (String(upper.dropLast()), 36), ("", 1), ("é", 3),
            (String(repeating: "x", count: 125), 126), (String(repeating: "x", count: 126), 128),
        ]
        for (text, size) in cases {
            var writer = WireWriter()
            writer.write(identifier: text)
            let count = writer.count
            #expect(count == size, "\(text)")
            var reader = WireReader(writer.bytes)
            #expect(try reader.readIdentifier() == text)
        }
    }

    @Test("texts that look the same keep their own spelling")
    func spelling() throws {
        let composed = Sample.metadata(source: "caf\u{E9}")
        let decomposed = Sample.metadata(source: "cafe\u{301}")
        #expect(composed.sourcePeerID == decomposed.sourcePeerID)
        let messages = [composed, decomposed, composed].map { WireMessage.envelope(Sample.envelope($0)) }
        var decoder = FrameStreamDecoder(codecs: Sample.codecs)
        decoder.append(try Sample.stream(messages))
        for expected in [composed, decomposed, composed] {
            guard case .envelope(let envelope) = try decoder.next() else { return #expect(Bool(false)) }
            #expect(Array(envelope.metadata.sourcePeerID.utf8) == Array(expected.sourcePeerID.utf8))
        }
    }

    @Test("a connection remembers 63 identities, and long ones not at all")
    func interning() throws {
        let sources = (0..<100).map { "source \($0)" } + [String(repeating: "long", count: 300)]
        var messages: [WireMessage] = []
        for round in 0..<3 as Range<UInt64> {
            for source in sources {
                messages.append(.envelope(Sample.envelope(Sample.metadata(sequence: round + 1, source: source))))
            }
        }
        #expect(try Sample.decode(Sample.stream(messages)) == messages.map(\.essence))

        var table = InterningTable(capacity: 1000)
        for source in sources {
            let metadata = Sample.metadata(source: source)
            if let change = table.place(of: metadata) { table.apply(change, from: metadata) }
        }
        #expect(table.slots.count == 63)
    }

    @Test("connection state out of order is refused")
    func definitions() throws {
        var writer = WireWriter()
        writer.write(Sample.metadata(), tableOf: 1)
        var bytes = writer.array()
        #expect(bytes[1] == 1)
        for (head, isGood) in [(1, true), (3, false), (125, false), (2, false)] as [(UInt8, Bool)] {
            bytes[1] = head
            var table = InterningTable(capacity: 63)
            let isRead = bytes.withUnsafeBytes { raw in
                var reader = WireReader(raw)
                let metadata = try? reader.readMetadata(interning: &table)
                return metadata != nil
            }
            #expect(isRead == isGood, "head \(head)")
        }
    }

    @Test("fields of later versions are skipped")
    func extensions() throws {
        let metadata = Sample.metadata()
        var writer = WireWriter()
        writer.write(metadata, tableOf: 0)
        var bytes = writer.array()
        bytes[0] |= 1 << 4
        let fields: [UInt8] = [1, 3, 9, 9, 9, 0xFF, 0x01, 0, 2, 1, 7]
        let good = bytes + [UInt8(fields.count)] + fields
        let read = try good.withUnsafeBytes { raw in
            var reader = WireReader(raw)
            var table = InterningTable(capacity: 0)
            let metadata = try reader.readMetadata(interning: &table)
            #expect(reader.remaining == 0)
            return metadata
        }
        #expect(read.essence == metadata.essence)
        for bad in [[UInt8(4), 1, 9, 9, 9], [3, 1, 1], [1, 1]] {
            (bytes + bad).withUnsafeBytes { raw in
                var reader = WireReader(raw)
                var table = InterningTable(capacity: 0)
                #expect(throws: WireError.self) { try reader.readMetadata(interning: &table) }
            }
        }
    }

    @Test("metadata that is cut anywhere is refused")
    func cut() throws {
        var metadata = Sample.metadata(eventID: Sample.session)
        metadata.acknowledgedSequence = 300
        var writer = WireWriter()
        writer.write(metadata, tableOf: 0)
        for length in 0..<writer.count {
            var reader = WireReader(UnsafeRawBufferPointer(rebasing: writer.bytes[..<length]))
            var table = InterningTable(capacity: 0)
            #expect(throws: WireError.self) { try reader.readMetadata(interning: &table) }
        }
    }
}

extension SessionSyncMetadata {
    fileprivate static func chance(using generator: inout SplitMix64) -> SessionSyncMetadata {
        func number(_ generator: inout SplitMix64) -> UInt64 {
            generator.next() >> UInt64.random(in: 0..<64, using: &generator)
        }
        let sources = [Sample.phone, Sample.watch, "", "short", "überlang — 日本", "Mixed-case-0000"]
        let stamp = HybridTimestamp(
            rawValue: Bool.random(using: &generator)
                ? number(&generator)
                : (Sample.milliseconds + UInt64.random(in: 0...100_000, using: &generator)) << 16)
        let seconds =
            Bool.random(using: &generator)
            ? Double(bitPattern: generator.next())
            : Double(stamp.milliseconds) / 1000 - 978_307_200 + Double.random(in: -20...20, using: &generator)
        var metadata = SessionSyncMetadata(
            protocolVersion: Int(truncatingIfNeeded: number(&generator)), sessionID: Sample.session,
            featureID: "feature", sourcePeerID: sources.randomElement(using: &generator)!,
            sequence: number(&generator), causalTimestamp: Date(timeIntervalSinceReferenceDate: seconds),
            payloadType: ["event", "state"].randomElement(using: &generator)!, stamp: stamp,
            incarnation: UInt32(truncatingIfNeeded: number(&generator)),
            epoch: UInt32(truncatingIfNeeded: number(&generator)))
        metadata.protocolVersion = Bool.random(using: &generator) ? 1 : metadata.protocolVersion
        if Bool.random(using: &generator) {
            (metadata.incarnation, metadata.epoch) = (7, 1)
            metadata.protocolVersion = 1
        }
        metadata.explicitEventID = Bool.random(using: &generator) ? UUID() : nil
        if Bool.random(using: &generator) { metadata.acknowledgedSequence = number(&generator) }
        if Bool.random(using: &generator) {
            metadata.monotonicTimestamp = Double.random(in: 0...1e6, using: &generator)
        }
        if Bool.random(using: &generator) {
            metadata.promise = SequencePromise(
                sequence: number(&generator), stamp: HybridTimestamp(rawValue: number(&generator)))
        }
        return metadata
    }
}
