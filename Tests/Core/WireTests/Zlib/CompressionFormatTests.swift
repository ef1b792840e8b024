import MeshBase
import MeshIdentity
import MeshTestSupport
import Testing

@testable import MeshWire

@Suite struct CompressionFormatTests {
    private static let base = CompressionPolicy.zlib(minimumBytes: 768)

    private static func policy(_ manner: TestFormat.Manner = .honest, minimumBytes: Int = 256) -> CompressionPolicy {
        // Another level than the base policy's, so that the output differs.
        base.preferring(TestFormat(manner: manner), minimumBytes: minimumBytes, level: 1)
    }

    private static func hello(_ formats: [UInt8] = [200], dictionaries: [UInt32] = []) -> WireHello {
        var hello = WireHello(peer: Sample.peer, dictionaries: dictionaries)
        hello.compressionFormats = formats
        return hello
    }

    private static func envelope(_ count: Int) -> WireMessage {
        let payload = EncodedPayload(bytes: ZlibTests.text(count), codec: Sample.codec)
        return .envelope(AnySessionSyncEnvelope(metadata: Sample.metadata(), payload: payload))
    }

    private static func frame(
        _ count: Int, _ policy: CompressionPolicy = policy(), to hello: WireHello? = hello()
    ) throws -> [UInt8] {
        var encoder = FrameEncoder(codec: Sample.codec, compression: policy)
        encoder.setReceiver(hello)
        return try encoder.encode(envelope(count))
    }

    private static func decoder(
        _ formats: [any CompressionFormat] = [TestFormat()], dictionaries: [CompressionDictionary] = []
    ) -> FrameDecoder {
        FrameDecoder(codecs: Sample.codecs, dictionaries: dictionaries, formats: formats)
    }

    private static func usesFormat(_ frame: [UInt8]) -> Bool { frame[4] & 0x40 != 0 }

    // MARK: - Negotiation

    @Test func `Only a receiver that announces the format gets it`() throws {
        let plain = try Self.frame(4000, Self.base)
        #expect(try Self.frame(4000, to: nil) == plain)
        #expect(try Self.frame(4000, to: Self.hello([])) == plain)
        #expect(try Self.frame(4000, to: Self.hello([1, 199, 201])) == plain)
        let frame = try Self.frame(4000, to: Self.hello([1, 200]))
        #expect(frame[4] == 0x41)
        var decoder = Self.decoder()
        #expect(try decoder.decode(frame)?.essence == Self.envelope(4000).essence)
    }

    @Test func `An encoder follows its receiver's latest hello`() throws {
        var encoder = FrameEncoder(codec: Sample.codec, compression: Self.policy())
        for hello in [nil, Self.hello(), Self.hello([]), Self.hello(), nil] as [WireHello?] {
            encoder.setReceiver(hello)
            let frame = try encoder.encode(Self.envelope(4000))
            #expect(Self.usesFormat(frame) == (hello?.compressionFormats == [200]))
        }
    }

    @Test func `A reader without the format refuses its frames`() throws {
        let frame = try Self.frame(4000)
        for formats in [[], [TestFormat(number: 199)]] as [[TestFormat]] {
            var decoder = Self.decoder(formats)
            #expect(decoder.failure(frame) == .unsupportedVersion)
            var stream = FrameStreamDecoder(codecs: Sample.codecs, formats: formats)
            stream.append(frame)
            #expect(throws: WireError.self) { try stream.next() }
            #expect(stream.failure?.code == .unsupportedVersion)
        }
    }

    @Test func `A dictionary is used toward receivers that announce it`() throws {
        let dictionary = try CompressionDictionary(ZlibTests.text(3000))
        let policy = Self.base.preferring(TestFormat(), dictionary: dictionary)
        #expect(try !Self.usesFormat(Self.frame(4000, policy)))
        let frame = try Self.frame(4000, policy, to: Self.hello(dictionaries: [dictionary.id]))
        #expect(frame[4] == 0x42)
        var decoder = Self.decoder(dictionaries: [dictionary])
        #expect(try decoder.decode(frame)?.essence == Self.envelope(4000).essence)
        var other = Self.decoder()
        #expect(other.failure(frame) == .unknownDictionary)
    }

    @Test func `Every receiver of the format has the built-in dictionary`() throws {
        let policy = Self.base.preferring(TestFormat(), dictionary: .builtIn)
        let frame = try Self.frame(4000, policy)
        #expect(frame[4] == 0x42)
        var decoder = Self.decoder()
        #expect(try decoder.decode(frame)?.essence == Self.envelope(4000).essence)
    }

    @Test func `Smaller bodies follow the policy that prefers the format`() throws {
        let policy = CompressionPolicy.dictionary(.builtIn).preferring(TestFormat(), minimumBytes: 2000)
        #expect(try Self.frame(1000, policy) == Self.frame(1000, .dictionary(.builtIn)))
        #expect(try Self.usesFormat(Self.frame(2000, policy)))
        let stored = CompressionPolicy.stored.preferring(TestFormat(), minimumBytes: 2000)
        #expect(try Self.frame(1000, stored) == Self.frame(1000, .stored))
        #expect(try Self.frame(4000, stored, to: nil) == Self.frame(4000, .stored))
        #expect(try Self.usesFormat(Self.frame(4000, stored)))
    }

    @Test func `A hello has the sender's formats, and its bytes are unchanged without any`() throws {
        var lengths: [Int] = []
        for formats in [[], [1], [200, 1, 7], Array(0...255)] as [[UInt8]] {
            let hello = Self.hello(formats)
            var encoder = FrameEncoder(codec: Sample.codec, compression: .stored)
            let bytes = try encoder.encode(.hello(hello))
            lengths.append(bytes.count)
            var decoder = Self.decoder()
            guard case .hello(let read)? = try decoder.decode(bytes) else { return #expect(Bool(false)) }
            #expect(read == hello)
            for length in bytes.indices { #expect(decoder.failure(Array(bytes[..<length])) == .truncated) }
        }
        // Three lengths take a second byte at 128.
        #expect(lengths == [0, 3, 5, 261].map { lengths[0] + $0 })
    }

    // MARK: - On connections

    @Test func `A connection's frames use the format, whole and in pieces`() throws {
        let messages = (0..<20).map { Self.envelope(300 + $0 * 500) }
        var encoder = FrameEncoder(codec: Sample.codec, compression: Self.policy(), interning: true)
        encoder.setReceiver(Self.hello())
        var standalone = FrameEncoder(codec: Sample.codec, compression: Self.policy())
        standalone.setReceiver(Self.hello())
        var slicer = FrameFragmenter(limit: PayloadLimit(id: "test", bytes: 300, summary: "", source: ""))
        var decoder = FrameStreamDecoder(codecs: Sample.codecs, formats: [TestFormat()])
        for (index, message) in messages.enumerated() {
            if index % 2 == 0 {
                let frame = try encoder.encode(message)
                #expect(Self.usesFormat(frame))
                decoder.append(frame)
            } else {
                for piece in try slicer.fragments(of: standalone.encode(message)) { decoder.append(piece) }
            }
            #expect(try decoder.next()?.essence == message.essence)
        }
    }

    // MARK: - Hostile bodies

    @Test func `Contradicting flags, unknown numbers and short bodies are refused`() throws {
        var decoder = Self.decoder()
        func failure(_ flags: UInt8, _ body: [UInt8]) -> WireError.Code? {
            decoder.failure(Sample.frame(kind: 5, codec: 0, flags: flags, body: body))
        }
        #expect(failure(0x40, [0, 0, 0]) == .corrupted)
        #expect(failure(0x43, [200, 3, 0]) == .unsupportedVersion)
        #expect(failure(0x41, []) == .truncated)
        #expect(failure(0x42, [200, 1, 2, 3]) == .truncated)
        #expect(failure(0x42, [200, 1, 2, 3, 4, 3, 0]) == .unknownDictionary)
        for number in 0...255 as ClosedRange<UInt8> where number != 200 {
            #expect(failure(0x41, [number, 3, 0]) == .unsupportedVersion)
        }
        #expect(failure(0xC1, [200, 3, 0]) == .unsupportedVersion)
    }

    @Test func `A fragment is never compressed`() throws {
        var reassembler = FrameReassembler()
        let body = [1, 20, 10, 0] + [UInt8](repeating: 0, count: 10)
        let piece = Sample.frame(kind: 6, codec: 0, flags: 0x40, body: body)
        #expect(throws: WireError.self) { try reassembler.receive(piece, now: .zero) }
    }

    @Test func `Stated lengths have the limits of deflate`() throws {
        var decoder = Self.decoder()
        for (count, bytes) in [(4 << 20 + 1, 1 << 19), (101, 5), (Int.max, 9)] {
            var body = WireWriter()
            body.write(200 as UInt8)
            body.writeVarint(UInt64(count))
            let frame = Sample.frame(
                kind: 5, codec: 0, flags: 0x41, body: body.array() + [UInt8](repeating: 0, count: bytes))
            #expect(decoder.failure(frame) == .oversized)
        }
    }

    @Test func `A sender doesn't exceed the limits of readers`() throws {
        let payload = EncodedPayload(bytes: [UInt8](repeating: 7, count: 100_000), codec: Sample.codec)
        var encoder = FrameEncoder(codec: Sample.codec, compression: Self.policy())
        encoder.setReceiver(Self.hello())
        let frame = try encoder.encode(
            .envelope(AnySessionSyncEnvelope(metadata: Sample.metadata(), payload: payload)))
        #expect(frame[4] & 0x43 == 0)
    }

    @Test func `A body that doesn't fit is stored`() throws {
        #expect(try Self.frame(4000, Self.policy(.full)) == Self.frame(4000, .stored))
    }

    @Test(arguments: [TestFormat.Manner.boastful, .failing])
    func `A compressor that fails, or reports an impossible size, is an error`(manner: TestFormat.Manner) throws {
        let error = #expect(throws: WireError.self) { try Self.frame(4000, Self.policy(manner)) }
        #expect(error?.code == .compressionFailed)
    }

    @Test func `A decompressor that fills less than the stated length is an error`() throws {
        let frame = try Self.frame(4000)
        var decoder = Self.decoder([TestFormat(manner: .short)])
        #expect(decoder.failure(frame) == .corrupted)
    }
}
