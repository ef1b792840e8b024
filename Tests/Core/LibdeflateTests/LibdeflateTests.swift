#if Libdeflate
    import Foundation
    import MeshBus
    import MeshIdentity
    import MeshLibdeflate
    import MeshTesting
    import MeshWire
    import Testing

    @Suite("libdeflate")
    struct LibdeflateTests {
        private static let samples: [(name: String, bytes: [UInt8])] = {
            let json = JSONCodec()
            let compact = CompactCodec()
            return [
                ("event", try? json.encode(SamplePayloads.event())),
                ("metrics", try? compact.encode(SamplePayloads.metrics())),
                ("workout", try? json.encode(SamplePayloads.workout())),
                ("compact workout", try? compact.encode(SamplePayloads.workout())),
                ("track", try? json.encode(SamplePayloads.track())),
                ("compact track", try? compact.encode(SamplePayloads.track())),
            ].compactMap { name, bytes in bytes.map { (name, $0) } }
        }()

        /// Compresses into `room` bytes, by default always enough. Returns nil if the output doesn't fit.
        private static func deflated(_ bytes: [UInt8], by deflater: any BodyDeflater, room: Int? = nil) throws
            -> [UInt8]?
        {
            var output = [UInt8](repeating: 0xEE, count: room ?? bytes.count + bytes.count / 1000 + 64)
            let count = try bytes.withUnsafeBytes { bytes in
                try output.withUnsafeMutableBytes { try deflater.compress(bytes, into: $0) }
            }
            return count.map { Array(output[..<$0]) }
        }

        private static func requireInflates(_ bytes: [UInt8], by deflater: any BodyDeflater, _ inflater: ZlibInflater)
            throws
        {
            let compressed = try #require(try deflated(bytes, by: deflater))
            // Repetitive samples shrink beyond the ratio that frame readers allow. Only the format matters here.
            let limits = FrameLimits(inflationRatio: 100_000)
            let inflated = try compressed.withUnsafeBytes {
                try inflater.inflate($0, count: bytes.count, limits: limits)
            }
            if inflated != bytes { Issue.record("\(bytes.count) bytes differ after inflation") }
        }

        @Test("zlib inflates what it writes of every sample", arguments: 1...9)
        func samples(level: Int) throws {
            #expect(Self.samples.count == 6)
            let deflater = try LibdeflateCompressor().makeDeflater(level: level)
            let inflater = try ZlibInflater()
            for sample in Self.samples { try Self.requireInflates(sample.bytes, by: deflater, inflater) }
        }

        @Test("zlib inflates what it writes of every size from 0 to 3000")
        func sizes() throws {
            let deflater = try LibdeflateCompressor().makeDeflater(level: 6)
            let inflater = try ZlibInflater()
            let text = try #require(Self.samples.first { $0.name == "track" }).bytes
            let binary = try #require(Self.samples.first { $0.name == "compact track" }).bytes
            for count in 0...3000 {
                try Self.requireInflates(Array(text[..<count]), by: deflater, inflater)
                try Self.requireInflates(Array(binary[..<count]), by: deflater, inflater)
                try Self.requireInflates([UInt8](repeating: 7, count: count), by: deflater, inflater)
            }
        }

        @Test("output that doesn't fit is nil, and nothing is written beyond the buffer")
        func room() throws {
            let deflater = try LibdeflateCompressor().makeDeflater(level: 6)
            let bytes = try #require(Self.samples.first { $0.name == "workout" }).bytes
            let whole = try #require(try Self.deflated(bytes, by: deflater))
            // The compressor needs a few spare bytes and may give up close to the end.
            for room in Array(0...40) + Array(whole.count - 40...whole.count + 40) {
                var output = [UInt8](repeating: 0xEE, count: room + 64)
                let count = try bytes.withUnsafeBytes { bytes in
                    try output.withUnsafeMutableBytes { output in
                        try deflater.compress(bytes, into: UnsafeMutableRawBufferPointer(rebasing: output[..<room]))
                    }
                }
                #expect(count == nil || count == whole.count)
                if room < whole.count { #expect(count == nil) }
                if room >= whole.count + 16 { #expect(count == whole.count) }
                #expect(output[room...].allSatisfy { $0 == 0xEE })
            }
        }

        @Test("the plugin offers it")
        func plugin() throws {
            let bus = try PluginBus {
                LibdeflatePlugin()
            }
            #expect(bus.contributions(to: .compressors).map(\.value.name) == ["libdeflate"])
        }
    }

    // MARK: - In frames

    extension LibdeflateTests {
        private static func frame(_ payload: [UInt8], _ compression: CompressionPolicy) throws -> [UInt8] {
            var encoder = FrameEncoder(codec: JSONCodec(), compression: compression)
            let metadata = SessionSyncMetadata(
                sessionID: UUID(), featureID: "workout", sourcePeerID: "phone", sequence: 1,
                causalTimestamp: SamplePayloads.start, payloadType: "workout.state")
            let payload = EncodedPayload(bytes: payload, codec: JSONCodec())
            return try encoder.encode(.envelope(AnySessionSyncEnvelope(metadata: metadata, payload: payload)))
        }

        private static func compression(of frame: [UInt8]) -> UInt8 { frame[4] & 3 }

        private static func payload(of frame: [UInt8]) throws -> [UInt8]? {
            var decoder = FrameDecoder(codecs: try CodecTable([JSONCodec()]))
            guard case .envelope(let envelope)? = try decoder.decode(frame) else { return nil }
            return try envelope.encodedPayload(with: JSONCodec()).bytes
        }

        @Test("frames with it are read like any other, and are no larger than zlib's by more than a hundredth")
        func frames() throws {
            for sample in Self.samples where sample.bytes.count >= 8192 {
                let frame = try Self.frame(sample.bytes, .zlib(compressor: LibdeflateCompressor()))
                let zlib = try Self.frame(sample.bytes, .zlib())
                #expect(Self.compression(of: frame) == 1)
                #expect(try Self.payload(of: frame) == sample.bytes)
                #expect(frame.count <= zlib.count + zlib.count / 100, "\(sample.name)")
            }
        }

        @Test("a body that doesn't shrink, or shrinks beyond the limit of readers, is stored")
        func stored() throws {
            let policy = CompressionPolicy.zlib(minimumBytes: 1, compressor: LibdeflateCompressor(), compressorBytes: 1)
            // Knuth's linear congruential generator (MMIX). Its highest bits don't repeat.
            var state: UInt64 = 11
            let noise = (0..<20_000).map { _ in
                state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
                return UInt8(truncatingIfNeeded: state >> 56)
            }
            for payload in [noise, [UInt8](repeating: 7, count: 100_000), []] {
                let frame = try Self.frame(payload, policy)
                #expect(Self.compression(of: frame) == 0)
                #expect(try Self.payload(of: frame) == payload)
            }
        }
    }
#endif
