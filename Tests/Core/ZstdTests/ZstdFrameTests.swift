#if Zstd
    import Foundation
    import MeshBase
    import MeshIdentity
    import MeshTestSupport
    import MeshTesting
    import MeshWire
    import MeshZstd
    import Testing

    /// Frames of the tests, and the readers of them.
    enum ZstdFrames {
        static let folder = Checkout.fixtures.appending(path: "Zstd")

        /// A dictionary that `zstd --train` made of metrics in JSON.
        static func dictionary() throws -> CompressionDictionary {
            try CompressionDictionary(Array(Data(contentsOf: folder.appending(path: "metrics.dictionary"))))
        }

        static func message(_ payload: some Encodable) throws -> WireMessage {
            let session = try #require(UUID(uuidString: "6BA7B810-9DAD-41D1-80B4-00C04FD430C8"))
            let metadata = SessionSyncMetadata(
                sessionID: session, featureID: "workout", sourcePeerID: "phone", sequence: 1,
                causalTimestamp: SamplePayloads.start, payloadType: "workout.state")
            let bytes = try JSONCodec().encode(payload)
            return .envelope(
                AnySessionSyncEnvelope(metadata: metadata, payload: EncodedPayload(bytes: bytes, codec: JSONCodec())))
        }

        static func encoder(_ policy: CompressionPolicy, to readers: [CompressionDictionary] = []) -> FrameEncoder {
            let peer = SessionPeer(id: "watch", deviceClass: .watch, appInstanceID: "1", topology: .pairedCompanion)
            var hello = WireHello(peer: peer, dictionaries: readers.map(\.id))
            hello.compressionFormats = [ZstdFormat().number]
            var encoder = FrameEncoder(codec: JSONCodec(), compression: policy)
            encoder.setReceiver(hello)
            return encoder
        }

        static func decoder(_ dictionaries: [CompressionDictionary] = []) throws -> FrameDecoder {
            FrameDecoder(
                codecs: try CodecTable([JSONCodec()]), dictionaries: dictionaries, formats: [ZstdFormat()])
        }

        static func payload(of message: WireMessage?) throws -> [UInt8]? {
            guard case .envelope(let envelope)? = message else { return nil }
            return try envelope.encodedPayload(with: JSONCodec()).bytes
        }
    }

    @Suite struct ZstdFrameTests {
        private static func failure(_ frame: [UInt8], _ decoder: inout FrameDecoder) -> WireError.Code? {
            do throws(WireError) {
                _ = try decoder.decode(frame)
                return nil
            } catch { return error.code }
        }

        private static func frame(flags: UInt8, _ body: [UInt8]) -> [UInt8] {
            body.withUnsafeBytes { RawFrameBuilder.frame(kind: 5, codec: 0, flags: flags, body: $0) }
        }

        @Test func `A trained dictionary makes frames smaller than zlib does, with and without it`() throws {
            let dictionary = try ZstdFrames.dictionary()
            let message = try ZstdFrames.message((1...20).map { SamplePayloads.metrics(seed: $0) })
            var zstd = ZstdFrames.encoder(.zlib().preferring(ZstdFormat(), dictionary: dictionary), to: [dictionary])
            var zlib = ZstdFrames.encoder(.zlib())
            let frame = try zstd.encode(message)
            #expect(frame[4] == 0x42)
            #expect(frame.count < (try zlib.encode(message).count))
            var decoder = try ZstdFrames.decoder([dictionary])
            #expect(try ZstdFrames.payload(of: decoder.decode(frame)) == ZstdFrames.payload(of: message))
            var other = try ZstdFrames.decoder()
            #expect(Self.failure(frame, &other) == .unknownDictionary)
        }

        @Test func `A reader without the format refuses the frame`() throws {
            var encoder = ZstdFrames.encoder(.zlib().preferring(ZstdFormat()))
            let frame = try encoder.encode(ZstdFrames.message(SamplePayloads.workout()))
            #expect(frame[4] == 0x41)
            var decoder = FrameDecoder(codecs: try CodecTable([JSONCodec()]))
            #expect(Self.failure(frame, &decoder) == .unsupportedVersion)
        }

        @Test func `A body that doesn't shrink, or shrinks beyond the limit of readers, is stored`() throws {
            var encoder = ZstdFrames.encoder(.zlib().preferring(ZstdFormat(), minimumBytes: 1))
            var random = SplitMix64(seed: 11)
            let noise = (0..<3000).map { _ in random.next() }.map { String($0, radix: 36) }.joined()
            for text in [String(noise.prefix(20)), String(repeating: "7", count: 100_000)] {
                let message = try ZstdFrames.message([text])
                let frame = try encoder.encode(message)
                #expect(frame[4] & 0x43 == 0)
                var decoder = try ZstdFrames.decoder()
                #expect(try ZstdFrames.payload(of: decoder.decode(frame)) == ZstdFrames.payload(of: message))
            }
        }

        @Test func `A body has the bounds of zlib's before it is decompressed`() throws {
            var decoder = try ZstdFrames.decoder()
            // One block that repeats a byte: 4 bytes stand for 128 KiB.
            let bomb: [UInt8] = [3, 0, 0x10, 0]
            #expect(Self.failure(Self.frame(flags: 0x41, [1, 0x80, 0x80, 8] + bomb), &decoder) == .oversized)
            #expect(Self.failure(Self.frame(flags: 0x41, [1, 81] + bomb), &decoder) == .oversized)
            #expect(Self.failure(Self.frame(flags: 0x41, [1, 80] + bomb), &decoder) == .corrupted)
            let large = [UInt8](repeating: 0, count: 1 << 18)
            #expect(Self.failure(Self.frame(flags: 0x41, [1, 0x81, 0x80, 0x80, 2] + large), &decoder) == .oversized)
        }

        @Test func `Every cut of a body, and every change of one of its bits, is an error or a whole message`() throws {
            let dictionary = try ZstdFrames.dictionary()
            var encoder = ZstdFrames.encoder(
                .zlib().preferring(ZstdFormat(), dictionary: dictionary, minimumBytes: 1), to: [dictionary])
            let frame = try encoder.encode(ZstdFrames.message(SamplePayloads.metrics()))
            let body = Array(frame[(frame[5] < 128 ? 7 : 8)..<(frame.count - 4)])
            var decoder = try ZstdFrames.decoder([dictionary])
            func failure(_ body: [UInt8]) -> WireError.Code? {
                Self.failure(
                    body.withUnsafeBytes { RawFrameBuilder.frame(kind: 2, codec: 1, flags: 0x42, body: $0) }, &decoder)
            }
            #expect(failure(body) == nil)
            for length in body.indices { #expect(failure(Array(body[..<length])) != nil) }
            for position in body.indices {
                for bit in 0..<8 {
                    var changed = body
                    changed[position] ^= 1 << UInt8(bit)
                    _ = failure(changed)
                }
            }
            #expect(failure(body) == nil)
        }

        // MARK: - Golden frames

        /// `SESSIONMESH_UPDATE_FIXTURES=1 swift test --traits default,Zstd --filter ZstdFrameTests` rewrites the frames, and
        /// `Tests/Interop/decode_frames.py FILE.frames` prints their description.
        private static let isUpdating = ProcessInfo.processInfo.environment["SESSIONMESH_UPDATE_FIXTURES"] == "1"

        @Test(arguments: ["state", "metrics"])
        func `The golden frames are read as they were`(name: String) throws {
            let dictionary = name == "metrics" ? try ZstdFrames.dictionary() : nil
            let message =
                name == "metrics"
                ? try ZstdFrames.message(SamplePayloads.metrics()) : try ZstdFrames.message(SamplePayloads.workout())
            let file = ZstdFrames.folder.appending(path: "\(name).frames")
            let policy = CompressionPolicy.zlib().preferring(ZstdFormat(), dictionary: dictionary, minimumBytes: 64)
            if Self.isUpdating {
                var encoder = ZstdFrames.encoder(policy, to: [dictionary].compactMap { $0 })
                try Data(encoder.encode(message)).write(to: file)
            }
            let golden = Array(try Data(contentsOf: file))
            #expect(golden[4] == (dictionary == nil ? 0x41 : 0x42))
            var decoder = try ZstdFrames.decoder([dictionary].compactMap { $0 })
            #expect(try ZstdFrames.payload(of: decoder.decode(golden)) == ZstdFrames.payload(of: message))
        }

        @Test func `A decoder in Python, written from the document, reads them the same way`() async throws {
            let script = Checkout.interop.appending(path: "decode_frames.py").path
            let (status, text) = try await Program.run("python3", ["-B", script, ZstdFrames.folder.path])
            // The status of `env` if there is no such program.
            if status == 127, ProcessInfo.processInfo.environment["CI"] != "true" {
                return print("skipped: python3 is missing (zstd)")
            }
            #expect(status == 0, "\(text)")
            #expect(text.contains("2 files"))
        }

        // MARK: - Fuzzing

        private static let fuzzFolder = Checkout.fixtures.appending(path: "Fuzz/zstd")

        private static func target(_ name: String) throws -> FuzzTarget {
            try #require(try FuzzTarget.all(codecs: [JSONCodec()], formats: [ZstdFormat()]).first { $0.name == name })
        }

        @Test func `No input of the fuzzer breaks the decompressor`() throws {
            let target = try Self.target("zstd")
            let files = try FileManager.default.contentsOfDirectory(atPath: Self.fuzzFolder.path)
            #expect(files.count >= 3)
            for file in files {
                let input = try Data(contentsOf: Self.fuzzFolder.appending(path: file))
                #expect(throws: Never.self, "\(file)") { try input.withUnsafeBytes { try target.run($0) } }
            }
        }

        @Test(arguments: 0..<4 as Range<UInt64>)
        func `Changed frames break no promise of the fuzz targets`(seed: UInt64) throws {
            var random = SplitMix64(seed: seed)
            let target = try Self.target("frame")
            var encoder = ZstdFrames.encoder(
                .zlib().preferring(ZstdFormat(), dictionary: seed % 2 == 0 ? nil : .builtIn, minimumBytes: 1))
            let frame = try encoder.encode(ZstdFrames.message(SamplePayloads.document()))
            // The target takes kind, codec, flags and body.
            let input = Array(frame[2...4] + frame[(frame[5] < 128 ? 7 : 8)..<(frame.count - 4)])
            for _ in 0..<500 {
                var changed = input
                for _ in 0..<Int.random(in: 1...3, using: &random) {
                    let position = Int.random(in: 2..<changed.count, using: &random)
                    changed[position] = UInt8.random(in: 0...255, using: &random)
                }
                #expect(throws: Never.self, "seed \(seed)") { try changed.withUnsafeBytes { try target.run($0) } }
            }
        }
    }
#endif
