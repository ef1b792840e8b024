import Foundation
import MeshIdentity

@testable import MeshWire

/// Frames of a connection whose payloads share field names.
extension GoldenVector {
    private struct Pace: Codable, Sendable {
        var at = 3.25
        var secondsPerKilometer = 341
        var aNameOfMoreThanThirtyTwoBytesIsSpelledOut = true
        var splits = ["1 km": 339.5, "2 km": 342.5]
    }

    private struct Summary: Codable, Sendable {
        var paces = [Pace(splits: [:]), Pace(splits: [:])]
        var note: String?
    }

    static func names(_ compression: CompressionPolicy) throws -> [UInt8] {
        var encoder = FrameEncoder(codec: CompactCodec(mode: .deterministic), compression: compression, interning: true)
        var writer = WireWriter()
        for message in try namedMessages() { try encoder.append(message, to: &writer) }
        return writer.array()
    }

    private static func namedMessages() throws -> [WireMessage] {
        func metadata(_ second: UInt64, _ type: String = "workout.event") -> SessionSyncMetadata {
            Sample.metadata(sequence: 42 + second, payloadType: type, advancedMilliseconds: second * 1000)
        }
        func value(_ payload: some Codable & Sendable, _ second: UInt64) throws -> WireMessage {
            let envelope = SessionSyncEnvelope(metadata: metadata(second), payload: payload)
            return .envelope(try AnySessionSyncEnvelope(envelope))
        }
        func encoded(_ bytes: [UInt8], _ codec: any PayloadCodec, _ second: UInt64) -> WireMessage {
            let payload = EncodedPayload(bytes: bytes, codec: codec)
            return .envelope(AnySessionSyncEnvelope(metadata: metadata(second), payload: payload))
        }
        let codec = CompactCodec(mode: .deterministic)
        let relayed = try codec.withNamesFirst.encode(Tap.lap(index: 4, note: "relayed"))
        let snapshot = SessionSyncSnapshot(
            metadata: metadata(9, "workout.state"), revision: 1, state: Summary(), peerSequenceVector: [:])
        return try [
            // Definitions, references, and both.
            value(Tap.pause(at: 12.5), 0), value(Tap.pause(at: 13.5), 1), value(Pace(), 2),
            value(Tap.lap(index: 3, note: "mixed"), 3), value(Pace(at: 4), 4),
            // Names that stay inside their payload, and payloads without names.
            encoded(codec.encode(Tap.pause(at: 14.5)), codec, 5), value(["no names"], 6),
            encoded(Array("{}".utf8), Sample.codec, 7), encoded(relayed, codec, 8),
            .snapshot(AnySessionSyncSnapshot(snapshot)), .goodbye(WireGoodbye(.closing)),
        ]
    }
}

// MARK: - Direct payloads

extension GoldenVector {
    private struct Split: Codable, Sendable, WireCodable {
        enum WireKeys: Int, CodingKey {
            case index = 1
            case seconds, note
        }

        var index = 1
        var seconds = 341.25
        var note: String? = "uphill"

        init(index: Int, note: String? = "uphill") { (self.index, self.note) = (index, note) }

        func encode(into fields: inout WireFieldWriter<WireKeys>) {
            fields.write(index, .index)
            fields.write(seconds, .seconds)
            fields.write(note, .note)
        }

        init(from fields: inout WireFieldReader<WireKeys>) throws(WireError) {
            index = try fields.read(.index)
            seconds = try fields.read(.seconds)
            note = try fields.read(.note)
        }
    }

    /// Payloads by number, between payloads by name.
    static func direct(_ compression: CompressionPolicy) throws -> [UInt8] {
        let codec = CompactCodec(mode: .deterministic)
        var encoder = FrameEncoder(codec: codec, compression: compression, interning: true)
        var writer = WireWriter()
        func message(_ payload: some Codable & Sendable, _ second: UInt64) throws -> WireMessage {
            let metadata = Sample.metadata(sequence: 42 + second, advancedMilliseconds: second * 1000)
            return .envelope(try AnySessionSyncEnvelope(SessionSyncEnvelope(metadata: metadata, payload: payload)))
        }
        try encoder.append(message(Split(index: 1), 0), to: &writer)
        try encoder.append(message(Tap.pause(at: 12.5), 1), to: &writer)
        try encoder.append(message(Split(index: 2, note: nil), 2), to: &writer)
        try encoder.append(message(Tap.pause(at: 13.5), 3), to: &writer)
        // Longer than a one-byte length allows, with a text that repeats.
        try encoder.append(message((0..<20).map { Split(index: $0) }, 4), to: &writer)
        try encoder.append(message(Tap.lap(index: 3, note: "uphill"), 5), to: &writer)
        try encoder.append(message(Split(index: 3), 6), to: &writer)
        return writer.array()
    }
}
