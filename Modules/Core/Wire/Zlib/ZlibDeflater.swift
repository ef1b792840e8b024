internal import CZlib

/// Compresses bodies to raw deflate (RFC 1951). Reuses one zlib stream, and a primed one for small bodies.
///
/// Owns about 270 KB, and at most 310 KB more with a dictionary. Don't use it from several threads at once.
package final class ZlibDeflater {
    private let stream: UnsafeMutablePointer<z_stream>
    /// The state for the last dictionary.
    private var primed: PrimedDeflate?
    /// Compression level from 1 (fastest) to 9 (smallest).
    package let level: Int

    /// - Parameter level: From 1 (fastest) to 9 (smallest). Other numbers are clamped.
    /// - Throws: `compressionFailed` if zlib has no memory.
    package init(level: Int = 6) throws(WireError) {
        self.level = min(max(level, 1), 9)
        stream = .allocate(capacity: 1)
        stream.initialize(to: z_stream())
        let status = mesh_deflate_init(stream, Int32(self.level), -MAX_WBITS, 8)
        guard status == Z_OK else { throw .deflate(status) }
    }

    deinit {
        deflateEnd(stream)
        stream.deinitialize(count: 1)
        stream.deallocate()
    }

    /// Compresses bytes independently of earlier ones.
    ///
    /// - Throws: `oversized` above 4 GiB, `compressionFailed`.
    package func compress(
        _ bytes: UnsafeRawBufferPointer, dictionary: CompressionDictionary? = nil
    ) throws(WireError) -> [UInt8] {
        let stream = try start(with: dictionary, for: bytes.count)
        let bound = Int(deflateBound(stream, UInt(bytes.count)))
        var failure: WireError?
        let output = [UInt8](unsafeUninitializedCapacity: bound) { buffer, count in
            do throws(WireError) {
                let output = UnsafeMutableRawBufferPointer(buffer)
                guard let written = try Self.deflate(bytes, into: output, with: stream) else {
                    throw .deflate(Z_BUF_ERROR)
                }
                count = written
            } catch {
                failure = error
            }
        }
        if let failure { throw failure }
        return output
    }

    /// Compresses bytes independently of earlier ones. Returns the number of bytes written; nil if they don't fit.
    func compress(
        _ bytes: UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer,
        dictionary: CompressionDictionary?
    ) throws(WireError) -> Int? {
        try Self.deflate(bytes, into: output, with: start(with: dictionary, for: bytes.count))
    }

    private func start(
        with dictionary: CompressionDictionary?, for byteCount: Int
    ) throws(WireError) -> UnsafeMutablePointer<z_stream> {
        if let dictionary, byteCount <= PrimedDeflate.bodyBytesMax {
            if let primed, primed.dictionary == dictionary { return try primed.start() }
            let primed = try PrimedDeflate(dictionary, level: level)
            self.primed = primed
            return try primed.start()
        }
        let status = deflateReset(stream)
        guard status == Z_OK else { throw .deflate(status) }
        if let dictionary { try Self.set(dictionary, for: stream) }
        return stream
    }

    static func set(
        _ dictionary: CompressionDictionary, for stream: UnsafeMutablePointer<z_stream>
    ) throws(WireError) {
        let status = dictionary.bytes.withUnsafeBufferPointer {
            deflateSetDictionary(stream, $0.baseAddress, UInt32($0.count))
        }
        guard status == Z_OK else { throw .deflate(status) }
    }

    /// - Returns: the number of bytes written; nil if they don't fit.
    private static func deflate(
        _ bytes: UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer,
        with stream: UnsafeMutablePointer<z_stream>
    ) throws(WireError) -> Int? {
        guard let inputCount = UInt32(exactly: bytes.count), let outputCount = UInt32(exactly: output.count) else {
            throw WireError(.oversized, "zlib accepts at most 4 GiB at once")
        }
        // zlib only reads through this pointer, although its type is mutable.
        stream.pointee.next_in = UnsafeMutablePointer(mutating: bytes.baseAddress?.assumingMemoryBound(to: UInt8.self))
        stream.pointee.avail_in = inputCount
        stream.pointee.next_out = output.baseAddress?.assumingMemoryBound(to: UInt8.self)
        stream.pointee.avail_out = outputCount
        let status = CZlib.deflate(stream, Z_FINISH)
        if status == Z_STREAM_END { return output.count - Int(stream.pointee.avail_out) }
        guard status == Z_OK || status == Z_BUF_ERROR else { throw .deflate(status) }
        return nil
    }
}

extension WireError {
    static func deflate(_ status: Int32) -> WireError {
        WireError(.compressionFailed, "zlib's deflate failed with \(status)")
    }
}
