#if Zstd
    internal import CZstd
    public import MeshWire

    /// The format zstd (RFC 8878), by libzstd. Compared with zlib, it takes a fraction of the time, and with a dictionary
    /// that was trained for it, bodies of a few KB are smaller too.
    ///
    /// ```swift
    /// FrameEncoder(codec: CompactCodec(), compression: .zlib().preferring(ZstdFormat()))
    /// ```
    ///
    /// On the wire, a body has only the blocks of a zstd frame. Its header would repeat facts that the receiver knows
    /// (RFC 8878, section 3.1.1.1), so the receiver writes the header itself. A sender therefore can't state a large window,
    /// another size or dictionary, or add a second frame.
    ///
    /// A dictionary is either one that `zstd --train` made, or any bytes that are typical of bodies.
    public struct ZstdFormat: CompressionFormat {
        public var number: UInt8 { 1 }
        public var name: String { "zstd" }

        /// Creates the format, which has no settings. The compression policy sets level and dictionary.
        public init() {}

        /// Creates a compressor for the bodies of one sender.
        ///
        /// - Parameter level: A level of zstd, clamped to 1 (fastest) to 19 (smallest).
        /// - Throws: `compressionFailed` if libzstd has no memory or can't use the dictionary.
        public func makeCompressor(
            level: Int, dictionary: CompressionDictionary?
        ) throws(WireError) -> any FormatCompressor {
            try ZstdCompressor(level: level, dictionary: dictionary)
        }

        /// Creates a decompressor for the bodies of one reader.
        ///
        /// - Throws: `compressionFailed` if libzstd has no memory.
        public func makeDecompressor() throws(WireError) -> any FormatDecompressor { try ZstdDecompressor() }
    }

    /// The header of a zstd frame that holds its content's size and nothing else (RFC 8878, section 3.1.1.1).
    ///
    /// `Single_Segment_Flag` is set, so the window is the content. There is no dictionary ID and no checksum: the frame of
    /// this library has both.
    struct ZstdFrameHeader {
        /// Number of bytes in the header, magic number included.
        let count: Int
        private let contentBytes: UInt64

        static let countMax = 13

        init(contentBytes: Int) {
            self.contentBytes = UInt64(contentBytes)
            count =
                switch contentBytes {
                case ..<256: 6
                case ..<65_792: 7
                case ..<0xFFFF_FFFF: 9
                default: Self.countMax
                }
        }

        /// Writes the header to the start of a buffer, which must have space for it.
        func write(to buffer: UnsafeMutableRawBufferPointer) {
            withUnsafeBytes(of: (ZSTD_MAGICNUMBER as UInt32).littleEndian) { buffer.copyMemory(from: $0) }
            let sizeCode: UInt8 = count == 6 ? 0 : count == 7 ? 1 : count == 9 ? 2 : 3
            buffer[4] = sizeCode << 6 | 1 << 5
            // A size of two bytes counts from 256.
            let size = count == 7 ? contentBytes - 256 : contentBytes
            for index in 5..<count { buffer[index] = UInt8(truncatingIfNeeded: size >> UInt64(8 * (index - 5))) }
        }
    }
#endif
