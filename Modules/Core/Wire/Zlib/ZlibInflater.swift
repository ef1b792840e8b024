internal import CZlib

/// Inflates bodies from raw deflate (RFC 1951). Reuses one zlib stream.
///
/// Owns about 45 KB. Don't use it from several threads at once.
package final class ZlibInflater {
    private let stream: UnsafeMutablePointer<z_stream>

    /// - Throws: `compressionFailed` if zlib couldn't allocate memory.
    package init() throws(WireError) {
        stream = .allocate(capacity: 1)
        stream.initialize(to: z_stream())
        let status = mesh_inflate_init(stream, -MAX_WBITS)
        guard status == Z_OK else { throw WireError(.compressionFailed, "zlib's inflateInit failed with \(status)") }
    }

    deinit {
        inflateEnd(stream)
        stream.deinitialize(count: 1)
        stream.deallocate()
    }

    /// Returns the inflated bytes, of which there must be exactly `count`.
    ///
    /// - Throws: `oversized` if `count` exceeds the limits, before memory is allocated; `corrupted`, `trailingBytes`.
    package func inflate(
        _ bytes: UnsafeRawBufferPointer, count: Int, dictionary: CompressionDictionary? = nil,
        limits: FrameLimits = FrameLimits()
    ) throws(WireError) -> [UInt8] {
        try limits.checkInflation(of: bytes.count, to: count)
        var failure: WireError?
        let output = [UInt8](unsafeUninitializedCapacity: count + Self.slackBytes) { buffer, initialized in
            do throws(WireError) {
                try inflate(bytes, into: UnsafeMutableRawBufferPointer(buffer), count: count, dictionary: dictionary)
                initialized = count
            } catch {
                failure = error
            }
        }
        if let failure { throw failure }
        return output
    }

    /// - Parameter output: Space for `count` bytes plus `slackBytes`.
    func inflate(
        _ bytes: UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer, count: Int,
        dictionary: CompressionDictionary?
    ) throws(WireError) {
        try restart(with: dictionary)
        try setOutput(output, count: count)
        let status = try inflate(bytes, flush: Z_FINISH)
        guard status == Z_STREAM_END else { throw failure(status) }
        guard stream.pointee.avail_in == 0 else {
            throw WireError(.trailingBytes, "\(stream.pointee.avail_in) bytes follow the compressed body")
        }
        try checkOutput()
    }

    private func restart(with dictionary: CompressionDictionary?) throws(WireError) {
        let status = inflateReset(stream)
        guard status == Z_OK else { throw failure(status) }
        guard let dictionary else { return }
        let primed = dictionary.bytes.withUnsafeBufferPointer {
            inflateSetDictionary(stream, $0.baseAddress, UInt32($0.count))
        }
        guard primed == Z_OK else { throw failure(primed) }
    }

    /// Spare bytes after the body, which reveal a stream that inflates to more than stated. zlib's fast loop needs 258 free
    /// bytes, the longest match. Without the slack, it would process the end of every body byte by byte.
    static let slackBytes = 320
}

// MARK: - The stream

extension ZlibInflater {
    private func setOutput(_ output: UnsafeMutableRawBufferPointer, count: Int) throws(WireError) {
        guard count <= output.count - Self.slackBytes, let available = UInt32(exactly: count + Self.slackBytes) else {
            throw WireError(.oversized, "the output buffer is too small for \(count) bytes")
        }
        stream.pointee.next_out = output.baseAddress?.assumingMemoryBound(to: UInt8.self)
        stream.pointee.avail_out = available
    }

    private func inflate(_ bytes: UnsafeRawBufferPointer, flush: Int32) throws(WireError) -> Int32 {
        guard let count = UInt32(exactly: bytes.count) else {
            throw WireError(.oversized, "zlib accepts at most 4 GiB at once")
        }
        // zlib only reads through this pointer, although its type is mutable.
        stream.pointee.next_in = UnsafeMutablePointer(mutating: bytes.baseAddress?.assumingMemoryBound(to: UInt8.self))
        stream.pointee.avail_in = count
        return CZlib.inflate(stream, flush)
    }

    /// Checks that exactly the slack is left.
    private func checkOutput() throws(WireError) {
        guard stream.pointee.avail_out == Self.slackBytes else { throw failure(Z_OK) }
    }

    private func failure(_ status: Int32) -> WireError {
        if status == Z_MEM_ERROR { return WireError(.compressionFailed, "zlib couldn't allocate memory") }
        if status == Z_DATA_ERROR { return WireError(.corrupted, "the compressed body is damaged") }
        return WireError(.corrupted, "the compressed body doesn't inflate to its stated length")
    }
}

extension FrameLimits {
    /// - Throws: `oversized`.
    func checkInflation(of compressedBytes: Int, to count: Int) throws(WireError) {
        guard count >= 0, count <= inflatedBytes else {
            throw WireError(.oversized, "a body of \(count) bytes exceeds the limit of \(inflatedBytes)")
        }
        guard isWithinRatio(count, compressed: compressedBytes) else {
            throw WireError(
                .oversized,
                "a body of \(compressedBytes) bytes would inflate to more than \(inflationRatio) times its size")
        }
    }

    func isWithinRatio(_ count: Int, compressed: Int) -> Bool {
        let (most, overflow) = compressed.multipliedReportingOverflow(by: inflationRatio)
        return overflow || count <= most
    }
}
