import Foundation
import MeshBase
import MeshIdentity
import Testing

@testable import MeshWire

@Suite("Frames")
struct FrameTests {
    static let policies: [CompressionPolicy] = [.stored, .zlib(), .dictionary(.builtIn), .zlib(minimumBytes: 48)]

    @Test("every message comes back as it was, alone", arguments: Sample.messages.indices)
    func roundTripAlone(index: Int) throws {
        for policy in [CompressionPolicy.stored, .zlib(minimumBytes: 1), .dictionary(.builtIn, minimumBytes: 1)] {
            var encoder = FrameEncoder(codec: Sample.codec, compression: policy)
            var decoder = FrameDecoder(codecs: Sample.codecs)
            let message = try decoder.decode(try encoder.encode(Sample.messages[index]))
            #expect(message?.essence == Sample.messages[index].essence)
        }
    }

    @Test("every message comes back as it was on a connection", arguments: policies.indices, [false, true])
    func roundTripOnConnection(policy: Int, interning: Bool) throws {
        let messages = Sample.messages + Sample.messages
        let stream = try Sample.stream(messages, compression: Self.policies[policy], interning: interning)
        #expect(try Sample.decode(stream) == messages.map(\.essence))
    }

    @Test("a frame of an event is as small as promised")
    func sizes() throws {
        enum WorkoutEvent: Codable, Sendable {
            case pause(at: Date)
        }
        // The longer compact form: through Codable, with the names of the case and its field.
        let codec = CompactCodec()
        func size(_ encoder: inout FrameEncoder, _ metadata: SessionSyncMetadata) throws -> Int {
            let event = SessionSyncEnvelope(
                metadata: metadata, payload: WorkoutEvent.pause(at: metadata.causalTimestamp))
            let envelope = try AnySessionSyncEnvelope(event)
            let frame = try encoder.encode(.envelope(envelope))
            return frame.count
        }
        var alone = FrameEncoder(codec: codec)
        #expect(try size(&alone, Sample.metadata()) <= 120)
        #expect(try size(&alone, Sample.metadata(eventID: Sample.session)) <= 145)
        var connected = FrameEncoder(codec: codec, interning: true)
        #expect(try size(&connected, Sample.metadata()) <= 120)
        for second in 1...20 {
            var metadata = Sample.metadata(sequence: 42 + UInt64(second), advancedMilliseconds: UInt64(second) * 1000)
            metadata.stamp = HybridTimestamp(milliseconds: metadata.stamp.milliseconds)
            metadata.promise = SequencePromise(sequence: metadata.sequence, stamp: metadata.stamp)
            #expect(try size(&connected, metadata) <= 45)
        }
    }

    @Test("a message that can't be encoded leaves no trace", arguments: policies.indices)
    func failedEncoding(policy: Int) throws {
        let limits = FrameLimits(frameBytes: 2000)
        var encoder = FrameEncoder(
            codec: Sample.codec, compression: Self.policies[policy], interning: true, limits: limits)
        var writer = WireWriter()
        try encoder.append(Sample.messages[1], to: &writer)
        let before = writer.array()
        var generator = SplitMix64(seed: 7)
        let noise = (0..<4000).map { _ in UInt8.random(in: 0...255, using: &generator) }
        #expect(throws: WireError.self) {
            try noise.withUnsafeBytes {
                try encoder.appendEnvelope(
                    Sample.metadata(source: "new"), payload: $0, codec: Sample.codec.id, to: &writer)
            }
        }
        #expect(writer.array() == before)
        try encoder.append(Sample.messages[2], to: &writer)
        try encoder.append(.envelope(Sample.envelope(Sample.metadata(source: "new"))), to: &writer)
        let essences = try Sample.decode(writer.array())
        #expect(essences.count == 3)
        #expect(essences.last == WireMessage.envelope(Sample.envelope(Sample.metadata(source: "new"))).essence)
    }

    @Test("a payload that is bytes already keeps its codec")
    func keepsCodec() throws {
        let other = PlainCodec(id: PayloadCodecID(number: 201, name: "other"))
        let payload = EncodedPayload(bytes: [1, 2, 3], codec: other)
        let envelope = AnySessionSyncEnvelope(metadata: Sample.metadata(), payload: payload)
        var encoder = FrameEncoder(codec: Sample.codec)
        let frame = try encoder.encode(.envelope(envelope))
        #expect(frame[3] == 201)
        var decoder = FrameDecoder(codecs: try CodecTable([Sample.codec, other]))
        let decoded = try decoder.decode(frame)
        #expect(decoded?.essence == WireMessage.envelope(envelope).essence)
    }
}

extension Sample {
    static func stream(
        _ messages: [WireMessage], compression: CompressionPolicy = .stored, interning: Bool = true
    ) throws -> [UInt8] {
        var encoder = FrameEncoder(codec: codec, compression: compression, interning: interning)
        var writer = WireWriter()
        for message in messages { try encoder.append(message, to: &writer) }
        return writer.array()
    }

    static func decode(_ stream: [UInt8], pieces: [Int]? = nil) throws -> [String] {
        var decoder = FrameStreamDecoder(codecs: codecs)
        var essences: [String] = []
        var offset = 0
        for piece in pieces ?? [stream.count] {
            decoder.append(Array(stream[offset..<(offset + piece)]))
            offset += piece
            while let message = try decoder.next() { essences.append(message.essence) }
        }
        return essences
    }

    /// A frame around any body, with a valid header and checksum.
    static func frame(
        kind: UInt8, codec: UInt8 = codec.id.number, flags: UInt8 = 0, body: [UInt8]
    ) -> [UInt8] {
        var writer = WireWriter()
        let frame = writer.openFrame()
        _ = writer.writeHeader(
            of: frame, kind: FrameKind(rawValue: kind), codec: codec, flags: FrameFlags(rawValue: flags),
            bodyBytes: body.count)
        writer.writeRaw(body)
        writer.write(FrameChecksum.of(writer.bytes))
        return writer.array()
    }
}
