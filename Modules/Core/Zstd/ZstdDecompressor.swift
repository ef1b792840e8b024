#if Zstd
    internal import CZstd
    internal import MeshWire

    /// A decompressor with one context of libzstd, about 96 KB, and the prepared form of each dictionary that a body has
    /// named: its content and about 27 KB. Don't use it from several threads at once.
    ///
    /// It decompresses in one pass into the caller's buffer, so it never allocates a window.
    final class ZstdDecompressor: FormatDecompressor {
        private let context: OpaquePointer
        /// The prepared dictionaries by ID. The reader passes only dictionaries that are registered with it.
        private var dictionaries: [(id: UInt32, prepared: OpaquePointer)] = []

        /// - Throws: `compressionFailed`.
        init() throws(WireError) {
            guard let context = ZSTD_createDCtx() else { throw .zstdMemory }
            self.context = context
        }

        deinit {
            ZSTD_freeDCtx(context)
            for dictionary in dictionaries { ZSTD_freeDDict(dictionary.prepared) }
        }

        func decompress(
            _ bytes: UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer,
            dictionary: CompressionDictionary?
        ) throws(WireError) -> Int {
            let prepared = try dictionary.map { dictionary throws(WireError) in try self.prepared(dictionary) }
            let header = ZstdFrameHeader(contentBytes: output.count)
            let result = withUnsafeTemporaryAllocation(byteCount: header.count + bytes.count, alignment: 16) { frame in
                header.write(to: frame)
                UnsafeMutableRawBufferPointer(rebasing: frame[header.count...]).copyMemory(from: bytes)
                let frameCount = ZSTD_findFrameCompressedSize(frame.baseAddress, frame.count)
                guard ZSTD_isError(frameCount) == 0 else { return Outcome.failed(frameCount) }
                guard frameCount == frame.count else { return .trailing(frame.count - frameCount) }
                let count = ZSTD_decompress_usingDDict(
                    context, output.baseAddress, output.count, frame.baseAddress, frame.count, prepared)
                return ZSTD_isError(count) == 0 ? .written(count) : .failed(count)
            }
            switch result {
            case .written(let count): return count
            case .trailing(let count):
                throw WireError(.trailingBytes, "\(count) bytes follow the compressed body")
            case .failed(let status):
                guard ZSTD_getErrorCode(status) != ZSTD_error_memory_allocation else { throw .zstdMemory }
                let reason = String(cString: ZSTD_getErrorName(status))
                throw WireError(.corrupted, "libzstd can't decompress the body to its stated length: \(reason)")
            }
        }

        private enum Outcome {
            case written(Int)
            case trailing(Int)
            case failed(Int)
        }

        private func prepared(_ dictionary: CompressionDictionary) throws(WireError) -> OpaquePointer {
            if let known = dictionaries.first(where: { $0.id == dictionary.id }) { return known.prepared }
            let prepared = dictionary.bytes.withUnsafeBytes { ZSTD_createDDict($0.baseAddress, $0.count) }
            guard let prepared else { throw .zstdDictionary(dictionary) }
            dictionaries.append((dictionary.id, prepared))
            return prepared
        }
    }
#endif
