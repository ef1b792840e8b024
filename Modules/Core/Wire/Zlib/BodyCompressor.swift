/// Compresses the bodies of a sender's frames according to its policy.
///
/// From the first body that is large enough, it keeps a zlib stream (or the policy's compressor). It also keeps a
/// buffer as large as the largest uncompressed body so far.
final class BodyCompressor {
    private let policy: CompressionPolicy
    private let limits: FrameLimits
    private var deflater: ZlibDeflater?
    /// The deflater of the policy's compressor. Created with the first body that is large enough for it.
    private var largeDeflater: (any BodyDeflater)?
    private var output = WireWriter(capacity: 64)

    init(policy: CompressionPolicy, limits: FrameLimits) {
        self.policy = policy
        self.limits = limits
    }

    func applies(to bodyBytes: Int) -> Bool { bodyBytes >= policy.minimumBytes && bodyBytes <= limits.inflatedBytes }

    /// Calls `use` with the compressed form of a body, if that is smaller and within the limits.
    ///
    /// - Throws: `compressionFailed`.
    /// - Returns: false if the body must be stored uncompressed.
    func compress(
        _ body: UnsafeRawBufferPointer, _ use: (FrameFlags, UnsafeRawBufferPointer) -> Void
    ) throws(WireError) -> Bool {
        guard applies(to: body.count) else { return false }
        let flags: FrameFlags?
        switch policy.method {
        case .stored: return false
        case .zlib(let dictionary): flags = try compressAlone(body, dictionary)
        }
        guard let flags else { return false }
        use(flags, output.bytes)
        return true
    }

    private func compressAlone(
        _ body: UnsafeRawBufferPointer, _ dictionary: CompressionDictionary?
    ) throws(WireError) -> FrameFlags? {
        output.reset()
        if let dictionary { output.write(dictionary.id) }
        output.writeVarint(UInt64(body.count))
        let outputMax = body.count - output.count - 1
        guard outputMax > 0 else { return nil }
        let start = output.count
        guard let count = try deflate(body, into: output.spareCapacity(for: outputMax), dictionary) else { return nil }
        guard limits.isWithinRatio(body.count, compressed: count) else { return nil }
        output.position = start + count
        return dictionary == nil ? .zlib : .zlibWithDictionary
    }

    private func deflate(
        _ body: UnsafeRawBufferPointer, into buffer: UnsafeMutableRawBufferPointer, _ dictionary: CompressionDictionary?
    ) throws(WireError) -> Int? {
        guard let compressor = policy.compressor, body.count >= compressor.minimumBytes, dictionary == nil else {
            return try startedDeflater().compress(body, into: buffer, dictionary: dictionary)
        }
        let deflater = try startedDeflater(of: compressor)
        guard let count = try deflater.compress(body, into: buffer) else { return nil }
        guard count > 0, count <= buffer.count else {
            throw WireError(
                .compressionFailed,
                "\(compressor.deflating.name) reports \(count) bytes written to a buffer of \(buffer.count)"
            )
        }
        return count
    }

    private func startedDeflater() throws(WireError) -> ZlibDeflater {
        if let deflater { return deflater }
        let started = try ZlibDeflater(level: policy.level)
        deflater = started
        return started
    }

    private func startedDeflater(of compressor: CompressionPolicy.Compressor) throws(WireError) -> any BodyDeflater {
        if let largeDeflater { return largeDeflater }
        let started = try compressor.deflating.makeDeflater(level: policy.level)
        largeDeflater = started
        return started
    }
}

extension WireWriter {
    /// Reserves space for that many bytes after the written ones. The caller advances `position` by the number it used.
    mutating func spareCapacity(for count: Int) -> UnsafeMutableRawBufferPointer {
        reserve(count)
        return UnsafeMutableRawBufferPointer(start: base + position, count: count)
    }
}
