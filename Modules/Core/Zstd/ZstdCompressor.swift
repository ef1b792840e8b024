#if Zstd
    internal import CZstd
    internal import MeshWire

    /// A compressor with one context of libzstd, and one prepared dictionary. At level 1, the context takes 70 KB for bodies of
    /// a few KB, and a dictionary of 8 KB takes 150 KB. Don't use it from several threads at once.
    final class ZstdCompressor: FormatCompressor {
        private let context: OpaquePointer
        private let dictionary: OpaquePointer?

        /// - Throws: `compressionFailed`.
        init(level: Int, dictionary: CompressionDictionary?) throws(WireError) {
            let level = Int32(min(max(level, 1), 19))
            guard let context = ZSTD_createCCtx() else { throw .zstdMemory }
            self.context = context
            var prepared: OpaquePointer?
            if let dictionary {
                prepared = dictionary.bytes.withUnsafeBytes { ZSTD_createCDict($0.baseAddress, $0.count, level) }
                guard prepared != nil else {
                    ZSTD_freeCCtx(context)
                    throw .zstdDictionary(dictionary)
                }
            }
            self.dictionary = prepared
            if let prepared { try Self.check(ZSTD_CCtx_refCDict(context, prepared)) }
            try set(ZSTD_c_compressionLevel, level)
            // libzstd lowers it to the body's size. A body larger than the window would need another header.
            try set(ZSTD_c_windowLog, ZSTD_cParam_getBounds(ZSTD_c_windowLog).upperBound)
            try set(ZSTD_c_contentSizeFlag, 1)
            try set(ZSTD_c_dictIDFlag, 0)
            try set(ZSTD_c_checksumFlag, 0)
        }

        deinit {
            ZSTD_freeCCtx(context)
            ZSTD_freeCDict(dictionary)
        }

        func compress(
            _ bytes: UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer
        ) throws(WireError) -> Int? {
            let header = ZstdFrameHeader(contentBytes: bytes.count)
            let capacity = ZSTD_compressBound(bytes.count)
            let result = withUnsafeTemporaryAllocation(byteCount: capacity, alignment: 16) { frame in
                let count = ZSTD_compress2(context, frame.baseAddress, frame.count, bytes.baseAddress, bytes.count)
                guard ZSTD_isError(count) == 0 else { return Outcome.failed(count) }
                guard header.isStart(of: frame[..<count]) else { return .otherHeader }
                guard count - header.count <= output.count else { return .tooLarge }
                output.copyMemory(from: UnsafeRawBufferPointer(rebasing: frame[header.count..<count]))
                return .written(count - header.count)
            }
            switch result {
            case .written(let count): return count
            case .tooLarge: return nil
            case .otherHeader: throw WireError(.compressionFailed, "libzstd wrote an unexpected frame header")
            case .failed(let status): throw .zstd(status)
            }
        }

        private enum Outcome {
            case written(Int)
            case tooLarge
            case otherHeader
            case failed(Int)
        }

        private func set(_ parameter: ZSTD_cParameter, _ value: Int32) throws(WireError) {
            try Self.check(ZSTD_CCtx_setParameter(context, parameter, value))
        }

        private static func check(_ status: Int) throws(WireError) {
            if ZSTD_isError(status) != 0 { throw .zstd(status) }
        }
    }

    extension ZstdFrameHeader {
        fileprivate func isStart(of frame: Slice<UnsafeMutableRawBufferPointer>) -> Bool {
            withUnsafeTemporaryAllocation(byteCount: Self.countMax, alignment: 16) { expected in
                write(to: expected)
                return frame.starts(with: expected[..<count])
            }
        }
    }

    extension WireError {
        static var zstdMemory: WireError { WireError(.compressionFailed, "libzstd couldn't allocate memory") }

        static func zstdDictionary(_ dictionary: CompressionDictionary) -> WireError {
            WireError(.compressionFailed, "libzstd can't use dictionary \(dictionary.id); train it again")
        }

        fileprivate static func zstd(_ status: Int) -> WireError {
            WireError(.compressionFailed, "libzstd failed: \(String(cString: ZSTD_getErrorName(status)))")
        }
    }
#endif
