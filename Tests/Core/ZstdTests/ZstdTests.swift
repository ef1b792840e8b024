#if Zstd
    import MeshBase
    import MeshBus
    import MeshIdentity
    import MeshTesting
    import MeshWire
    import Testing

    @testable import MeshZstd

    /// Bodies alone, without frames.
    @Suite struct ZstdTests {
        static let samples: [(name: String, bytes: [UInt8])] = {
            let json = JSONCodec()
            let compact = CompactCodec()
            return [
                ("event", try? json.encode(SamplePayloads.event())),
                ("metrics", try? json.encode(SamplePayloads.metrics())),
                ("workout", try? json.encode(SamplePayloads.workout())),
                ("compact workout", try? compact.encode(SamplePayloads.workout())),
                ("track", try? json.encode(SamplePayloads.track(count: 400))),
                ("compact track", try? compact.encode(SamplePayloads.track(count: 400))),
            ].compactMap { name, bytes in bytes.map { (name, $0) } }
        }()

        /// Compresses into `space` bytes, by default always enough. Returns nil if the output doesn't fit.
        static func compressed(_ bytes: [UInt8], by compressor: any FormatCompressor, space: Int? = nil) throws
            -> [UInt8]?
        {
            var output = [UInt8](repeating: 0xEE, count: space ?? bytes.count + bytes.count / 128 + 64)
            let count = try bytes.withUnsafeBytes { bytes in
                try output.withUnsafeMutableBytes { try compressor.compress(bytes, into: $0) }
            }
            return count.map { Array(output[..<$0]) }
        }

        /// Decompresses to exactly `count` bytes, and checks that nothing is written beyond them.
        static func decompressed(
            _ bytes: [UInt8], count: Int, _ dictionary: CompressionDictionary? = nil,
            by decompressor: any FormatDecompressor
        ) throws -> [UInt8] {
            var output = [UInt8](repeating: 0xEE, count: count + 64)
            defer { #expect(output[count...].allSatisfy { $0 == 0xEE }) }
            let written = try bytes.withUnsafeBytes { bytes in
                try output.withUnsafeMutableBytes {
                    let space = UnsafeMutableRawBufferPointer(rebasing: $0[..<count])
                    return try decompressor.decompress(bytes, into: space, dictionary: dictionary)
                }
            }
            #expect(written == count)
            return Array(output[..<count])
        }

        private static func failure(
            _ bytes: [UInt8], count: Int, _ dictionary: CompressionDictionary? = nil,
            by decompressor: any FormatDecompressor
        ) -> WireError.Code? {
            do {
                _ = try decompressed(bytes, count: count, dictionary, by: decompressor)
                return nil
            } catch { return (error as? WireError)?.code }
        }

        private static func noise(_ count: Int, seed: UInt64 = 11) -> [UInt8] {
            var random = SplitMix64(seed: seed)
            return (0..<count).map { _ in UInt8(truncatingIfNeeded: random.next()) }
        }

        // MARK: - Round trips

        @Test func `What it writes of every size from 0 to 3000 is read again, with and without a dictionary`() throws {
            let text = try #require(Self.samples.first { $0.name == "workout" }).bytes
            let binary = try #require(Self.samples.first { $0.name == "compact track" }).bytes
            let dictionaries = try [nil, CompressionDictionary.builtIn, ZstdFrames.dictionary()]
            let decompressor = try ZstdFormat().makeDecompressor()
            for dictionary in dictionaries {
                let compressor = try ZstdFormat().makeCompressor(level: 1, dictionary: dictionary)
                for count in 0...3000 {
                    for bytes in [Array(text[..<count]), Array(binary[..<count]), [UInt8](repeating: 7, count: count)] {
                        let body = try #require(try Self.compressed(bytes, by: compressor))
                        let read = try Self.decompressed(body, count: count, dictionary, by: decompressor)
                        if read != bytes { Issue.record("\(count) bytes differ") }
                    }
                }
            }
        }

        @Test(arguments: [1, 2, 3, 6, 9, 12, 19])
        func `Every sample is read again at every level, also around the sizes at which the header grows`(
            level: Int
        ) throws {
            let compressor = try ZstdFormat().makeCompressor(level: level, dictionary: nil)
            let withDictionary = try ZstdFormat().makeCompressor(level: level, dictionary: .builtIn)
            let decompressor = try ZstdFormat().makeDecompressor()
            let noise = Self.noise(70_000)
            let sizes = [255, 256, 257, 65_535, 65_536, 65_537, 65_791, 65_792, 65_793]
            for bytes in Self.samples.map(\.bytes) + sizes.map({ Array(noise[..<$0]) }) {
                let body = try #require(try Self.compressed(bytes, by: compressor))
                #expect(try Self.decompressed(body, count: bytes.count, by: decompressor) == bytes)
                let other = try #require(try Self.compressed(bytes, by: withDictionary))
                #expect(try Self.decompressed(other, count: bytes.count, .builtIn, by: decompressor) == bytes)
            }
        }

        @Test func `A body of the largest size is read again`() throws {
            let compressor = try ZstdFormat().makeCompressor(level: 1, dictionary: nil)
            let decompressor = try ZstdFormat().makeDecompressor()
            let text = try #require(Self.samples.first { $0.name == "track" }).bytes
            var bytes: [UInt8] = []
            while bytes.count < 4 << 20 { bytes += text.prefix((4 << 20) - bytes.count) }
            // The second half refers to the first across more than the level's usual window.
            bytes.replaceSubrange((2 << 20)..., with: bytes[..<(2 << 20)])
            let body = try #require(try Self.compressed(bytes, by: compressor))
            #expect(try Self.decompressed(body, count: bytes.count, by: decompressor) == bytes)
        }

        @Test func `Output that doesn't fit is nil, and nothing is written beyond the buffer`() throws {
            let compressor = try ZstdFormat().makeCompressor(level: 3, dictionary: nil)
            let bytes = try #require(Self.samples.first { $0.name == "compact workout" }).bytes
            let whole = try #require(try Self.compressed(bytes, by: compressor))
            for space in Array(0...40) + Array(whole.count - 10...whole.count + 10) {
                var output = [UInt8](repeating: 0xEE, count: space + 64)
                let count = try bytes.withUnsafeBytes { bytes in
                    try output.withUnsafeMutableBytes { output in
                        try compressor.compress(bytes, into: UnsafeMutableRawBufferPointer(rebasing: output[..<space]))
                    }
                }
                #expect(count == (space < whole.count ? nil : whole.count))
                #expect(output[space...].allSatisfy { $0 == 0xEE })
            }
        }

        // MARK: - Hostile bodies

        @Test func `A body that is cut, or has another length than stated, is corrupted`() throws {
            let compressor = try ZstdFormat().makeCompressor(level: 1, dictionary: nil)
            let decompressor = try ZstdFormat().makeDecompressor()
            let bytes = try #require(Self.samples.first { $0.name == "compact workout" }).bytes
            let body = try #require(try Self.compressed(bytes, by: compressor))
            for length in body.indices {
                #expect(Self.failure(Array(body[..<length]), count: bytes.count, by: decompressor) == .corrupted)
            }
            let lies = Array(0...300) + (bytes.count - 300...bytes.count + 300) + [65_791, 65_792, 1 << 20]
            for count in lies where count != bytes.count {
                #expect(Self.failure(body, count: count, by: decompressor) == .corrupted, "\(count)")
            }
            #expect(try Self.decompressed(body, count: bytes.count, by: decompressor) == bytes)
        }

        @Test func `Bytes after the body are refused, whether or not they are another frame`() throws {
            let compressor = try ZstdFormat().makeCompressor(level: 1, dictionary: nil)
            let decompressor = try ZstdFormat().makeDecompressor()
            let bytes = try #require(Self.samples.first { $0.name == "metrics" }).bytes
            let body = try #require(try Self.compressed(bytes, by: compressor))
            let magic: [UInt8] = [0x28, 0xB5, 0x2F, 0xFD]
            let empty = magic + [0x20, 0, 1, 0, 0]
            let skippable: [UInt8] = [0x50, 0x2A, 0x4D, 0x18, 2, 0, 0, 0, 1, 2]
            for tail in [[0], magic, empty, skippable, body, magic + [0x20, UInt8(bytes.count)] + body] {
                #expect(Self.failure(body + tail, count: bytes.count, by: decompressor) == .trailingBytes)
                #expect(Self.failure(body + tail, count: 2 * bytes.count, by: decompressor) == .trailingBytes)
            }
        }

        @Test func `Headers have no place in a body`() throws {
            let compressor = try ZstdFormat().makeCompressor(level: 1, dictionary: nil)
            let decompressor = try ZstdFormat().makeDecompressor()
            let bytes = try #require(Self.samples.first { $0.name == "metrics" }).bytes
            let body = try #require(try Self.compressed(bytes, by: compressor))
            let magic: [UInt8] = [0x28, 0xB5, 0x2F, 0xFD]
            let heads: [[UInt8]] = [
                magic + [0x20, UInt8(bytes.count)],
                // A window of the largest size, 3.75 TiB, with and without a content size of 2⁶⁴ − 1.
                magic + [0x00, 0xFF], magic + [0xC0, 0xFF] + [UInt8](repeating: 0xFF, count: 8),
                // A dictionary ID of four bytes, and a checksum.
                magic + [0x23, 1, 2, 3, 4, UInt8(bytes.count)], magic + [0x24, UInt8(bytes.count)],
                // A skippable frame, empty and of the largest size.
                [0x50, 0x2A, 0x4D, 0x18, 0, 0, 0, 0], [0x5F, 0x2A, 0x4D, 0x18, 0xFF, 0xFF, 0xFF, 0xFF],
            ]
            for head in heads {
                let code = Self.failure(head + body, count: bytes.count, by: decompressor)
                #expect(code == .corrupted || code == .trailingBytes, "\(head)")
            }
        }

        @Test func `A body for another dictionary is an error or other bytes of the stated length`() throws {
            let bytes = try #require(Self.samples.first { $0.name == "metrics" }).bytes
            let decompressor = try ZstdFormat().makeDecompressor()
            let dictionaries = try [nil, CompressionDictionary.builtIn, ZstdFrames.dictionary()]
            for (index, right) in dictionaries.enumerated() {
                let compressor = try ZstdFormat().makeCompressor(level: 1, dictionary: right)
                let body = try #require(try Self.compressed(bytes, by: compressor))
                for (other, wrong) in dictionaries.enumerated() where other != index {
                    let code = Self.failure(body, count: bytes.count, wrong, by: decompressor)
                    #expect(code == nil || code == .corrupted)
                }
                #expect(try Self.decompressed(body, count: bytes.count, right, by: decompressor) == bytes)
            }
        }

        @Test func `A damaged trained dictionary is an error on both sides`() throws {
            let damaged = try CompressionDictionary([0x37, 0xA4, 0x30, 0xEC] + Self.noise(500))
            let error = #expect(throws: WireError.self) {
                try ZstdFormat().makeCompressor(level: 1, dictionary: damaged)
            }
            #expect(error?.code == .compressionFailed)
            let decompressor = try ZstdFormat().makeDecompressor()
            #expect(Self.failure([1, 0, 0], count: 0, damaged, by: decompressor) == .compressionFailed)
        }

        @Test func `Every block header and every short body is an error or has the stated length`() throws {
            let decompressor = try ZstdFormat().makeDecompressor()
            for first in 0...255 as ClosedRange<UInt8> {
                for second in [0, 1, 2, 8, 0x7F, 0x80, 0xFF] as [UInt8] {
                    for tail in [[], [0], [1, 2, 3, 4, 5, 6, 7, 8, 9]] as [[UInt8]] {
                        for count in [0, 1, 9, 300, 40_000] {
                            let code = Self.failure([first, second, 0] + tail, count: count, by: decompressor)
                            #expect([nil, .corrupted, .trailingBytes].contains(code))
                        }
                    }
                }
            }
        }

        @Test(arguments: 0..<8 as Range<UInt64>)
        func `Changed bodies are errors or have the stated length`(seed: UInt64) throws {
            var random = SplitMix64(seed: seed)
            let dictionary = try [nil, .builtIn, ZstdFrames.dictionary()][Int(seed % 3)]
            let compressor = try ZstdFormat().makeCompressor(level: 1 + Int(seed), dictionary: dictionary)
            let decompressor = try ZstdFormat().makeDecompressor()
            let bodies = try Self.samples.prefix(4).map { sample in
                (count: sample.bytes.count, body: try #require(try Self.compressed(sample.bytes, by: compressor)))
            }
            for _ in 0..<2000 {
                var (count, body) = try #require(bodies.randomElement(using: &random))
                for _ in 0..<Int.random(in: 1...4, using: &random) where !body.isEmpty {
                    let position = Int.random(in: body.indices, using: &random)
                    switch Int.random(in: 0..<5, using: &random) {
                    case 0: body[position] = UInt8.random(in: 0...255, using: &random)
                    case 1: body[position] ^= 1 << UInt8.random(in: 0...7, using: &random)
                    case 2: body.remove(at: position)
                    case 3: body.insert(UInt8.random(in: 0...255, using: &random), at: position)
                    default: body.removeSubrange(position...)
                    }
                }
                if Int.random(in: 0..<8, using: &random) == 0 { count = Int.random(in: 0...20_000, using: &random) }
                let code = Self.failure(body, count: count, dictionary, by: decompressor)
                #expect([nil, .corrupted, .trailingBytes].contains(code), "seed \(seed)")
            }
        }

        @Test func `The plugin offers it`() throws {
            let bus = try PluginBus {
                ZstdPlugin()
            }
            #expect(bus.contributions(to: .compressionFormats).map(\.value.name) == ["zstd"])
        }
    }
#endif
