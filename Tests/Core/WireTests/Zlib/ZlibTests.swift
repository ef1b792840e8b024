import Foundation
import MeshBase
import MeshIdentity
import Testing

@testable import MeshWire

@Suite("Compression")
struct ZlibTests {
    static func text(_ count: Int, seed: UInt64 = 3) -> [UInt8] {
        var generator = SplitMix64(seed: seed)
        var text: [UInt8] = []
        while text.count < count {
            let sample =
                "{\"heartRate\":\(Int.random(in: 90...180, using: &generator)),"
                + "\"distance\":\(Double.random(in: 0...9000, using: &generator))},"
            text += Array(sample.utf8)
        }
        return Array(text.prefix(count))
    }

    static func noise(_ count: Int) -> [UInt8] {
        var generator = SplitMix64(seed: 11)
        return (0..<count).map { _ in UInt8.random(in: 0...255, using: &generator) }
    }

    @Test("bytes are restored regardless of earlier use of the stream", arguments: [1, 6, 9])
    func roundTrip(level: Int) throws {
        let deflater = try ZlibDeflater(level: level)
        let inflater = try ZlibInflater()
        for count in [0, 1, 2, 100, 1000, 70_000] {
            for bytes in [Self.text(count), Self.noise(count)] {
                for dictionary in [nil, CompressionDictionary.builtIn] {
                    let compressed = try bytes.withUnsafeBytes { try deflater.compress($0, dictionary: dictionary) }
                    let restored = try compressed.withUnsafeBytes {
                        try inflater.inflate($0, count: count, dictionary: dictionary)
                    }
                    #expect(restored == bytes)
                }
            }
        }
    }

    @Test func `Bodies with changing dictionaries of every size come back, with the same bytes each time`() throws {
        let deflater = try ZlibDeflater()
        let inflater = try ZlibInflater()
        let (text, noise) = (Self.text(32_768), Self.noise(5000))
        let bodies = [0, 1, 80, 2047, 2048, 2049, 5000].flatMap { count in
            [
                Array(text.prefix(count)), Array(noise.prefix(count)),
                Array(text.suffix(count / 2) + noise.prefix(count - count / 2)),
            ]
        }
        for size in [1, 3, 250, 1786, 1787, 5882, 5883, 32_768] {
            let dictionary = try CompressionDictionary(Array(text.suffix(size)))
            for body in bodies {
                let compressed = try (0..<2).map { _ in
                    try body.withUnsafeBytes { try deflater.compress($0, dictionary: dictionary) }
                }
                #expect(compressed[0] == compressed[1])
                // The text may be all of the dictionary, which readers would refuse as too good to be true.
                guard compressed[0].count * 20 > body.count else { continue }
                let restored = try compressed[0].withUnsafeBytes {
                    try inflater.inflate($0, count: body.count, dictionary: dictionary)
                }
                #expect(restored == body, "a dictionary of \(size) and a body of \(body.count) bytes")
            }
        }
    }

    @Test("damage is an error, and the stream works afterwards")
    func damage() throws {
        let deflater = try ZlibDeflater()
        let inflater = try ZlibInflater()
        let bytes = Self.text(600)
        let compressed = try bytes.withUnsafeBytes { try deflater.compress($0) }
        func inflate(_ bytes: [UInt8], _ count: Int = 600) throws -> [UInt8] {
            try bytes.withUnsafeBytes { try inflater.inflate($0, count: count) }
        }
        for length in 0..<compressed.count {
            #expect(throws: WireError.self) { try inflate(Array(compressed[..<length])) }
        }
        for position in compressed.indices {
            for bit in 0..<8 {
                var damaged = compressed
                damaged[position] ^= 1 << bit
                // Not every change of raw deflate data is detected. The frame's checksum detects the others.
                if let restored = try? inflate(damaged) { #expect(restored.count == 600) }
            }
        }
        for wrong in [0, 599, 601] { #expect(throws: WireError.self) { try inflate(compressed, wrong) } }
        #expect(throws: WireError.self) { try inflate(compressed + [0]) }
        #expect(try inflate(compressed) == bytes)
    }

    @Test("a bomb is refused before it is inflated")
    func bombs() throws {
        let zeros = [UInt8](repeating: 0, count: 3 << 20)
        let deflater = try ZlibDeflater(level: 9)
        let compressed = try zeros.withUnsafeBytes { try deflater.compress($0) }
        #expect(compressed.count < 5000)
        var decoder = FrameDecoder(codecs: Sample.codecs)
        for count in [3 << 20, compressed.count * 20 + 1, (4 << 20) + 1, .max] {
            var body = WireWriter()
            body.writeVarint(UInt64(count))
            body.writeRaw(compressed)
            #expect(decoder.failure(Sample.frame(kind: 2, flags: 1, body: body.array())) == .oversized)
        }
        // A claimed length within the ratio doesn't help: reading fails when more bytes come out.
        var body = WireWriter()
        body.writeVarint(UInt64(compressed.count * 20))
        body.writeRaw(compressed)
        #expect(decoder.failure(Sample.frame(kind: 2, flags: 1, body: body.array())) == .corrupted)
    }

    @Test("the sender stores or pads bodies that readers would reject as bombs", arguments: FrameTests.policies.indices)
    func storesBombs(policy: Int) throws {
        let payload = EncodedPayload(bytes: [UInt8](repeating: 7, count: 100_000), codec: Sample.codec)
        let message = WireMessage.envelope(AnySessionSyncEnvelope(metadata: Sample.metadata(), payload: payload))
        var messages = [message, .envelope(Sample.envelope()), message]
        messages += (0..<5).map { .snapshot(Sample.snapshot(laps: 100 * $0)) }
        let stream = try Sample.stream(messages, compression: FrameTests.policies[policy])
        let isPadding = policy == 3
        #expect(stream.count > (isPadding ? 10_000 : 200_000))
        #expect(try Sample.decode(stream) == messages.map(\.essence))
    }

    @Test("compression never makes a frame larger", arguments: FrameTests.policies.indices)
    func neverLarger(policy: Int) throws {
        for count in [0, 1, 63, 64, 65, 200, 767, 768, 769, 5000] {
            for bytes in [Self.noise(count), Self.text(count)] {
                let payload = EncodedPayload(bytes: bytes, codec: Sample.codec)
                let envelope = AnySessionSyncEnvelope(metadata: Sample.metadata(), payload: payload)
                let stored = try Sample.stream([.envelope(envelope)])
                let packed = try Sample.stream([.envelope(envelope)], compression: FrameTests.policies[policy])
                #expect(packed.count <= stored.count)
            }
        }
    }

    @Test("small bodies shrink with a dictionary to 0.6 of their size")
    func smallBodies() throws {
        let metadata = (0..<200).map {
            Sample.metadata(sequence: 100 + UInt64($0), advancedMilliseconds: UInt64($0) * 1000)
        }
        let messages: [WireMessage] = metadata.enumerated().map { index, metadata in
            let payload = EncodedPayload(bytes: Self.text(160, seed: UInt64(index)), codec: Sample.codec)
            return .envelope(AnySessionSyncEnvelope(metadata: metadata, payload: payload))
        }
        let bodies = try messages.map { try Sample.stream([$0], interning: false) }
        let dictionary = try CompressionDictionary.trained(from: Array(bodies[..<100]), maximumBytes: 4096)
        let rest = Array(messages[100...])
        let stored = try Sample.stream(rest, interning: false)
        let trained = try Sample.stream(rest, compression: .dictionary(dictionary), interning: false)
        #expect(Double(trained.count) <= 0.6 * Double(stored.count))
        var decoder = FrameStreamDecoder(codecs: Sample.codecs, dictionaries: [dictionary])
        decoder.append(trained)
        for message in rest {
            let decoded = try decoder.next()
            #expect(decoded?.essence == message.essence)
        }
    }

    @Test("a dictionary that the reader lacks is named")
    func unknownDictionary() throws {
        let dictionary = try CompressionDictionary(Self.text(500))
        let message = WireMessage.snapshot(Sample.snapshot(laps: 20))
        let frame = try Sample.stream([message], compression: .dictionary(dictionary), interning: false)
        #expect(frame[4] == 2)
        var without = FrameDecoder(codecs: Sample.codecs)
        #expect(without.failure(frame) == .unknownDictionary)
        var with = FrameDecoder(codecs: Sample.codecs, dictionaries: [dictionary])
        #expect(with.failure(frame) == nil)
        #expect(throws: WireError.self) { try CompressionDictionary([]) }
        #expect(throws: WireError.self) { try CompressionDictionary([UInt8](repeating: 1, count: 32_769)) }
    }

    /// Early versions wrote one zlib stream per connection.
    @Test func `Compression 3 is refused by its name`() {
        for flags in [3, 7] as [UInt8] {
            var decoder = FrameDecoder(codecs: Sample.codecs)
            let error = #expect(throws: WireError.self) {
                try decoder.decode(Sample.frame(kind: 5, codec: 0, flags: flags, body: [0, 3, 0, 0, 0]))
            }
            #expect(error?.code == .unsupportedVersion && error?.message.contains("compression 3") == true)
        }
    }

    @Test("training is deterministic and finds what the samples share")
    func training() throws {
        let samples = (0..<50).map { Self.text(200, seed: $0) }
        let first = try CompressionDictionary.trained(from: samples, maximumBytes: 512)
        let second = try CompressionDictionary.trained(from: samples, maximumBytes: 512)
        #expect(first == second)
        #expect(first.bytes.count <= 512)
        #expect(String(decoding: first.bytes, as: UTF8.self).contains("\"distance\":"))
        #expect(throws: WireError.self) { try CompressionDictionary.trained(from: [[1, 2, 3], [4, 5, 6, 7, 8, 9]]) }
        #expect(throws: WireError.self) { try CompressionDictionary.trained(from: []) }
        let same = [[UInt8]](repeating: Self.noise(40_000), count: 3)
        #expect(try CompressionDictionary.trained(from: same).bytes.count <= CompressionDictionary.bytesMax)
    }
}
