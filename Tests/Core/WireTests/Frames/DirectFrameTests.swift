import Foundation
import MeshIdentity
import MeshTesting
import Testing

@testable import MeshWire

/// Frames of the direct path, payload and all in one buffer: the same bytes as in three steps.
@Suite struct DirectFrameTests {
    typealias Numbers = [Double]

    static let policies: [CompressionPolicy] = [.stored, .zlib()]

    private func envelope<Payload: Codable & Sendable>(_ payload: Payload, _ number: UInt64) -> SessionSyncEnvelope<
        Payload
    > {
        var metadata = Sample.metadata(source: "phone")
        metadata.sequence = number
        return SessionSyncEnvelope(metadata: metadata, payload: payload)
    }

    /// Below and above every length at which the header of a frame grows by a byte, back and forth.
    @Test(arguments: [false, true])
    func `The direct frame is the erased one, whatever the length before it`(interning: Bool) throws {
        let limits = FrameLimits(frameBytes: 1 << 22)
        for policy in Self.policies {
            var direct = FrameEncoder(
                codec: CompactCodec(), compression: policy, interning: interning, limits: limits)
            var erased = FrameEncoder(
                codec: CompactCodec(), compression: policy, interning: interning, limits: limits)
            let counts = [0, 1, 200, 2, 3000, 0, 40_000, 5, 2040, 2, 1] + Array(0..<20) + [300_000, 3]
            for (number, count) in counts.enumerated() {
                let payload = (0..<count).map { Double($0) * 1.25 }
                let envelope = envelope(payload, UInt64(number + 1))
                let expected = try erased.encode(.envelope(AnySessionSyncEnvelope(envelope)))
                // Both ways, by turns: into the encoder's own memory and behind other bytes.
                if number.isMultiple(of: 2) {
                    #expect(try direct.encode(envelope) == expected)
                } else {
                    var writer = WireWriter(capacity: 1)
                    writer.write(0xABCD as UInt16)
                    try direct.append(envelope, to: &writer)
                    #expect(Array(writer.bytes) == [0xCD, 0xAB] + expected)
                }
            }
        }
    }

    @Test func `On a connection, direct payloads and payloads with names take turns`() throws {
        for policy in Self.policies + [.connection()] {
            var direct = FrameEncoder(codec: CompactCodec(), compression: policy, interning: true)
            var erased = FrameEncoder(codec: CompactCodec(), compression: policy, interning: true)
            var decoder = FrameStreamDecoder(codecs: try CodecTable([CompactCodec()]))
            for number in 1...12 as ClosedRange<UInt64> {
                let event = envelope(SamplePayloads.event(), number)
                let state = envelope(SamplePayloads.workout(seed: number), number)
                let tap = try AnySessionSyncEnvelope(envelope(Tap.pause(at: Double(number)), number))
                let frames = try [direct.encode(event), direct.encode(.envelope(tap)), direct.encode(state)]
                let expected = try [
                    erased.encode(.envelope(AnySessionSyncEnvelope(event))), erased.encode(.envelope(tap)),
                    erased.encode(.envelope(AnySessionSyncEnvelope(state))),
                ]
                #expect(frames == expected)
                #expect(frames[0][4] & FrameFlags.names.rawValue == 0)
                #expect(frames[1][4] & FrameFlags.names.rawValue != 0)
                for frame in frames { decoder.append(frame) }
                #expect(try payload(SampleEvent.self, decoder.next()) == event.payload)
                #expect(try payload(Tap.self, decoder.next()) == .pause(at: Double(number)))
                #expect(try payload(SampleWorkout.self, decoder.next()) == state.payload)
            }
        }
    }

    private func payload<Payload: Codable & Sendable>(
        _ type: Payload.Type, _ message: WireMessage?
    ) throws -> Payload? {
        guard case .envelope(let envelope) = message else { return nil }
        return try CompactCodec().decode(type, from: envelope.encodedPayload(with: CompactCodec()).bytes)
    }

    @Test func `A payload with its names in front is read by the direct path too`() throws {
        let event = envelope(SamplePayloads.event(), 1)
        let codec = CompactCodec(usesDirectPath: false, namesFirst: true)
        var encoder = FrameEncoder(codec: codec)
        var decoder = FrameDecoder(codecs: try CodecTable([CompactCodec()]))
        let frame = try encoder.encode(.envelope(AnySessionSyncEnvelope(event)))
        for _ in 0..<2 { #expect(try decoder.decode(SampleEvent.self, frame) == event) }
    }

    @Test func `One decoder reads direct frames of any payload in turn, and what is not direct`() throws {
        var encoder = FrameEncoder(codec: JSONCodec())
        var decoder = FrameDecoder(codecs: try CodecTable([JSONCodec(), CompactCodec()]))
        for number in 1...4 as ClosedRange<UInt64> {
            let event = envelope(SamplePayloads.event(), number)
            let state = envelope(SamplePayloads.workout(seed: number), number)
            let (eventFrame, stateFrame) = (try encoder.encode(event), try encoder.encode(state))
            let erased = try encoder.encode(.envelope(AnySessionSyncEnvelope(event)))
            #expect(try decoder.decode(SampleEvent.self, eventFrame) == event)
            #expect(throws: WireError.self) { try decoder.decode(SampleWorkout.self, eventFrame) }
            #expect(try decoder.decode(SampleWorkout.self, stateFrame) == state)
            #expect(try decoder.decode(SampleEvent.self, erased).payload == event.payload)
        }
    }

    @Test func `Metadata of one identity does not inherit what the last frame said beside it`() throws {
        var encoder = FrameEncoder(codec: CompactCodec(), compression: .stored)
        var decoder = FrameDecoder(codecs: try CodecTable([CompactCodec()]))
        var full = envelope(SamplePayloads.event(), 7)
        full.metadata.monotonicTimestamp = 12.5
        full.metadata.acknowledgedSequence = 3
        full.metadata.promise = SequencePromise(sequence: 7, stamp: full.metadata.stamp)
        full.metadata.eventID = UUID(uuid: (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16))
        var bare = envelope(SamplePayloads.event(), 8)
        bare.metadata.monotonicTimestamp = nil
        bare.metadata.acknowledgedSequence = nil
        bare.metadata.promise = nil
        bare.metadata.explicitEventID = nil
        for envelope in [full, bare, full, bare, bare] {
            let read = try decoder.decode(SampleEvent.self, try encoder.encode(envelope))
            #expect(read == envelope)
            #expect(read.metadata.explicitEventID == envelope.metadata.explicitEventID)
        }
    }

    @Test func `A payload that fails leaves what the writer held, and the next frame is whole`() throws {
        var encoder = FrameEncoder(
            codec: CompactCodec(), compression: .stored, limits: FrameLimits(frameBytes: 4096))
        var writer = WireWriter()
        writer.write(1 as UInt8)
        let error = #expect(throws: WireError.self) {
            try encoder.append(envelope([[[1]]], 1), direct: CompactCodec(depthMax: 1), to: &writer)
        }
        #expect(error?.code == .tooDeep)
        #expect(Array(writer.bytes) == [1])
        let oversized = #expect(throws: WireError.self) {
            try encoder.append(envelope(Numbers(repeating: 1, count: 600), 1), to: &writer)
        }
        #expect(oversized?.code == .oversized)
        #expect(Array(writer.bytes) == [1])

        var fresh = FrameEncoder(codec: CompactCodec(), compression: .stored)
        #expect(try encoder.encode(envelope([2.5], 2)) == fresh.encode(envelope([2.5], 2)))
    }
}

extension FrameDecoder {
    fileprivate mutating func decode<Payload: Codable & Sendable & WireValue>(
        _ type: Payload.Type, _ frame: [UInt8]
    ) throws -> SessionSyncEnvelope<Payload> {
        try frame.withUnsafeBytes { try decodeEnvelope(type, from: $0) }
    }
}
