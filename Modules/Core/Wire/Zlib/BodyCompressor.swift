/// Compresses the bodies of a sender's frames according to its policy.
///
/// From the first body that is large enough, it keeps a zlib stream (or the policy's compressor). It also keeps a
/// buffer as large as the largest uncompressed body so far.
final class BodyCompressor {
    let policy: CompressionPolicy
    /// The parts of the policy that the receiver reads.
    var readable: ReadableCompression = .dictionary
    private let limits: FrameLimits
    private var deflater: ZlibDeflater?
    /// The deflater of the policy's compressor. Created with the first body that is large enough for it.
    private var largeDeflater: (any BodyDeflater)?
    /// The compressor of the preferred format. Created with its first body.
    private var formatCompressor: (any FormatCompressor)?
    private var output = WireWriter(capacity: 64)

    init(policy: CompressionPolicy, limits: FrameLimits) {
        self.policy = policy
        self.limits = limits
    }

    func applies(to bodyBytes: Int) -> Bool {
        guard bodyBytes <= limits.inflatedBytes else { return false }
        return bodyBytes >= policy.minimumBytes || preferred(for: bodyBytes) != nil
    }

    private func preferred(for bodyBytes: Int) -> CompressionPolicy.Preferred? {
        guard readable.contains(.preferredFormat), let preferred = policy.preferred else { return nil }
        return bodyBytes >= preferred.minimumBytes ? preferred : nil
    }

    /// Calls `use` with the compressed form of a body, if that is smaller and within the limits.
    ///
    /// - Throws: `compressionFailed`.
    /// - Returns: false if the body must be stored uncompressed.
    func compress(
        _ body: UnsafeRawBufferPointer, _ use: (FrameFlags, UnsafeRawBufferPointer) -> Void
    ) throws(WireError) -> Bool {
        guard applies(to: body.count) else { return false }
        let flags: FrameFlags?
        if let preferred = preferred(for: body.count) {
            flags = try compressAlone(body, preferred.dictionary, preferred)
        } else if case .zlib(let dictionary) = policy.method {
            let isReadable = dictionary == nil || readable.contains(.dictionary)
            flags = try compressAlone(body, isReadable ? dictionary : .builtIn)
        } else {
            return false
        }
        guard let flags else { return false }
        use(flags, output.bytes)
        return true
    }

    private func compressAlone(
        _ body: UnsafeRawBufferPointer, _ dictionary: CompressionDictionary?,
        _ preferred: CompressionPolicy.Preferred? = nil
    ) throws(WireError) -> FrameFlags? {
        output.reset()
        if let preferred { output.write(preferred.format.number) }
        if let dictionary { output.write(dictionary.id) }
        output.writeVarint(UInt64(body.count))
        let outputMax = body.count - output.count - 1
        guard outputMax > 0 else { return nil }
        let start = output.count
        let space = output.spareCapacity(for: outputMax)
        let written =
            if let preferred {
                try compress(body, into: space, preferred)
            } else {
                try deflate(body, into: space, dictionary)
            }
        guard let count = written else { return nil }
        guard limits.isWithinRatio(body.count, compressed: count) else { return nil }
        output.position = start + count
        let flags: FrameFlags = dictionary == nil ? .compressed : .compressedWithDictionary
        return preferred == nil ? flags : flags.union(.format)
    }

    private func compress(
        _ body: UnsafeRawBufferPointer, into buffer: UnsafeMutableRawBufferPointer,
        _ preferred: CompressionPolicy.Preferred
    ) throws(WireError) -> Int? {
        try startedCompressor(of: preferred).compress(body, into: buffer)
            .map { count throws(WireError) in try checked(count, by: preferred.format.name, buffer) }
    }

    private func deflate(
        _ body: UnsafeRawBufferPointer, into buffer: UnsafeMutableRawBufferPointer, _ dictionary: CompressionDictionary?
    ) throws(WireError) -> Int? {
        guard let compressor = policy.compressor, body.count >= compressor.minimumBytes, dictionary == nil else {
            return try startedDeflater().compress(body, into: buffer, dictionary: dictionary)
        }
        let deflater = try startedDeflater(of: compressor)
        return try deflater.compress(body, into: buffer)
            .map { count throws(WireError) in try checked(count, by: compressor.deflating.name, buffer) }
    }

    private func checked(
        _ count: Int, by name: String, _ buffer: UnsafeMutableRawBufferPointer
    ) throws(WireError) -> Int {
        guard count > 0, count <= buffer.count else {
            throw WireError(
                .compressionFailed, "\(name) reports \(count) bytes written to a buffer of \(buffer.count)")
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

    private func startedCompressor(
        of preferred: CompressionPolicy.Preferred
    ) throws(WireError) -> any FormatCompressor {
        if let formatCompressor { return formatCompressor }
        let started = try preferred.format.makeCompressor(level: preferred.level, dictionary: preferred.dictionary)
        formatCompressor = started
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
