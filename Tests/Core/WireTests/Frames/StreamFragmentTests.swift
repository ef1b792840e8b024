import Foundation
import MeshBase
import MeshIdentity
import Testing

@testable import MeshWire

/// Frames that arrive in pieces, between other frames of a stream.
@Suite("Fragments on a stream")
struct StreamFragmentTests {
    private static let limit = PayloadLimit(id: "piece", bytes: 16 << 10, summary: "", source: "")

    private static func envelope(_ sequence: UInt64, bytes: Int = 40) -> WireMessage {
        var generator = SplitMix64(seed: sequence)
        let noise = (0..<bytes).map { _ in UInt8.random(in: 0...255, using: &generator) }
        return .envelope(
            AnySessionSyncEnvelope(
                metadata: Sample.metadata(sequence: sequence),
                payload: EncodedPayload(bytes: noise, codec: Sample.codec)))
    }

    private static func sequences(_ decoder: inout FrameStreamDecoder) throws -> [UInt64] {
        var sequences: [UInt64] = []
        while case .envelope(let envelope)? = try decoder.next() { sequences.append(envelope.metadata.sequence) }
        return sequences
    }

    private static func cut(_ frame: [UInt8], message: UInt32 = 0) throws -> [[UInt8]] {
        var fragmenter = FrameFragmenter(
            limit: PayloadLimit(id: "small", bytes: 64, summary: "", source: ""), firstMessage: message)
        return try fragmenter.fragments(of: frame)
    }

    private static func alone(_ message: WireMessage, mark: WireMark? = nil) throws -> [UInt8] {
        var encoder = FrameEncoder(codec: Sample.codec, compression: .stored)
        return try encoder.encode(message, mark: mark)
    }

    @Test("a frame of a mebibyte in pieces of 16 KiB lets small ones pass")
    func large() throws {
        var fragmenter = FrameFragmenter(limit: Self.limit)
        let large = Self.envelope(1, bytes: (1 << 20) - 200)
        let pieces = try fragmenter.fragments(of: Self.alone(large, mark: Sample.marks[2]))
        #expect(pieces.count == 65)
        #expect(pieces.allSatisfy { $0.count <= 16 << 10 })
        var connection = FrameEncoder(codec: Sample.codec, interning: true)
        var decoder = FrameStreamDecoder(codecs: Sample.codecs)
        for (index, piece) in pieces.enumerated() {
            decoder.append(piece)
            if index == pieces.count - 1 {
                let frame = try decoder.nextFrame()
                #expect(frame?.mark == Sample.marks[2])
                #expect(frame?.message.essence == large.essence)
            }
            decoder.append(try connection.encode(Self.envelope(100 + UInt64(index))))
            #expect(try Self.sequences(&decoder) == [100 + UInt64(index)])
            let isAtEnd = decoder.isAtFrameBoundary
            #expect(isAtEnd == (index == pieces.count - 1))
        }
    }

    @Test(
        "pieces of eight frames take turns in any order, however the stream is cut", arguments: 0..<8 as Range<UInt64>)
    func interleaved(seed: UInt64) throws {
        var generator = SplitMix64(seed: seed)
        var connection = FrameEncoder(codec: Sample.codec, compression: .zlib(minimumBytes: 1), interning: true)
        var pieces = try (0..<8 as Range<UInt64>).flatMap {
            try Self.cut(Self.alone(Self.envelope($0, bytes: 500 + Int(seed) * 37)), message: UInt32($0))
        }
        pieces.shuffle(using: &generator)
        var stream: [UInt8] = []
        for (index, piece) in pieces.enumerated() {
            stream += piece
            if index % 3 == 0 { stream += try connection.encode(Self.envelope(100 + UInt64(index))) }
        }
        let small = pieces.indices.filter { $0 % 3 == 0 }.map { 100 + UInt64($0) }
        for step in [1, 13, stream.count] {
            var decoder = FrameStreamDecoder(codecs: Sample.codecs)
            var sequences: [UInt64] = []
            for start in Swift.stride(from: 0, to: stream.count, by: step) {
                decoder.append(Array(stream[start..<min(start + step, stream.count)]))
                sequences += try Self.sequences(&decoder)
            }
            #expect(sequences.filter { $0 >= 100 } == small, "seed \(seed)")
            #expect(sequences.filter { $0 < 100 }.sorted() == Array(0..<8), "seed \(seed)")
            let isAtEnd = decoder.isAtFrameBoundary
            #expect(isAtEnd)
        }
    }

    @Test("a stream that ends between pieces waits and says so")
    func ends() throws {
        let stream = try Self.cut(Self.alone(Self.envelope(1))).flatMap { $0 }
        for length in 1..<stream.count {
            var decoder = FrameStreamDecoder(codecs: Sample.codecs)
            decoder.append(Array(stream[..<length]))
            #expect(try Self.sequences(&decoder) == [])
            let isAtEnd = decoder.isAtFrameBoundary
            #expect(!isAtEnd, "ends at \(length)")
        }
    }

    @Test("a frame in pieces is independent of the connection", arguments: GoldenVector.ofConnection)
    func standsAlone(vector: GoldenVector) throws {
        let frame = try vector.make()
        let codecs = try CodecTable([Sample.codec, CompactCodec()])
        var connection = FrameStreamDecoder(codecs: codecs)
        connection.append(frame)
        let message = try connection.next()
        #expect(message != nil)
        // In pieces, the frame can't even refer to earlier messages of the connection.
        for piece in try Self.cut(frame) { connection.append(piece) }
        let error = #expect(throws: WireError.self) { _ = try connection.next() }
        #expect(error?.code == .corrupted)
    }

    @Test("a frame in pieces may be of an unknown kind that is skipped")
    func skipped() throws {
        let unknown = Sample.frame(
            kind: 99, flags: FrameFlags.skippable.rawValue, body: .init(repeating: 1, count: 100))
        var decoder = FrameStreamDecoder(codecs: Sample.codecs)
        for piece in try Self.cut(unknown) { decoder.append(piece) }
        decoder.append(try Self.alone(Self.envelope(1)))
        #expect(try Self.sequences(&decoder) == [1])
        let skipped = decoder.skippedCount
        #expect(skipped == 1)
    }

    @Test("too many incomplete frames at a time end the stream")
    func bounds() throws {
        func piece(_ message: UInt8, total: Int) -> [UInt8] {
            var writer = WireWriter()
            for number in [Int(message), total, 1000, 0] { writer.writeVarint(UInt64(number)) }
            return Sample.frame(
                kind: 6, codec: 0, body: writer.array() + [UInt8](repeating: 0, count: 1000))
        }
        for (total, most) in [(2000, 8), (1 << 20, 2), (700_000, 2), (600_000, 3)] {
            var decoder = FrameStreamDecoder(codecs: Sample.codecs)
            for message in 0..<UInt8(most) {
                decoder.append(piece(message, total: total))
                #expect(try Self.sequences(&decoder) == [])
            }
            decoder.append(piece(200, total: total))
            let error = #expect(throws: WireError.self) { _ = try decoder.next() }
            #expect(error?.code == .oversized, "\(total) bytes")
            decoder.append(try Self.alone(Self.envelope(1)))
            #expect(throws: WireError.self) { _ = try decoder.next() }
        }
    }

    @Test("an invalid piece ends the stream", arguments: GoldenVector.refusedPieces)
    func impossible(vector: GoldenVector) throws {
        let bytes = try vector.make()
        var decoder = FrameStreamDecoder(codecs: try CodecTable([Sample.codec, CompactCodec()]))
        decoder.append(bytes)
        decoder.append(try Self.alone(Self.envelope(1)))
        guard vector.name != "refused-fragment-missing" else {
            #expect(try Self.sequences(&decoder) == [1])
            return
        }
        #expect(throws: WireError.self) { _ = try Self.sequences(&decoder) }
        let failure = decoder.failure
        #expect(failure != nil)
    }
}
