/// Completes frames: compresses the body if that makes it smaller, then adds header and checksum.
struct FrameClosing {
    let limits: FrameLimits
    private let compressor: BodyCompressor?

    init(_ compression: CompressionPolicy, _ limits: FrameLimits) {
        self.limits = limits
        compressor = compression.compressesNothing ? nil : BodyCompressor(policy: compression, limits: limits)
    }

    var readable: ReadableCompression {
        get { compressor?.readable ?? [] }
        nonmutating set { compressor?.readable = newValue }
    }

    func setReceiver(_ hello: WireHello?) {
        guard let compressor else { return }
        compressor.readable = hello.map(compressor.policy.readable) ?? .dictionary
    }

    /// Completes a frame whose body is at the end of the writer.
    ///
    /// - Throws: `oversized`, `compressionFailed`. After an error, the writer no longer has the frame.
    func close(
        _ frame: OpenFrame, _ kind: FrameKind, flags: FrameFlags = [], codec: UInt8 = 0, _ writer: inout WireWriter
    ) throws(WireError) {
        let bodyBytes = writer.count - frame.start - frame.headerBytes
        let compresses = compresses(bodyBytes)
        if !compresses { try check(bodyBytes, frame, &writer) }
        let written = writer.writeHeader(of: frame, kind: kind, codec: codec, flags: flags, bodyBytes: bodyBytes)
        if compresses { try compress(written, kind, flags, codec, &writer) }
        writer.reserve(FrameHeader.checksumBytes)
        let bytes = UnsafeRawBufferPointer(start: writer.base + frame.start, count: writer.position - frame.start)
        writer.append(FrameChecksum.of(bytes).littleEndian)
    }

    /// Completes a frame whose body ends with bytes that aren't in the writer yet.
    func close(
        _ frame: OpenFrame, _ kind: FrameKind, flags: FrameFlags = [], codec: UInt8, tail: UnsafeRawBufferPointer,
        _ writer: inout WireWriter
    ) throws(WireError) {
        let bodyBytes = writer.count - frame.start - frame.headerBytes + tail.count
        // Checked before the tail is copied.
        if !compresses(bodyBytes) { try check(bodyBytes, frame, &writer) }
        writer.reserve(tail.count + 4 + FrameHeader.checksumBytes)
        writer.writeRaw(tail)
        try close(frame, kind, flags: flags, codec: codec, &writer)
    }

    private func compresses(_ bodyBytes: Int) -> Bool { compressor?.applies(to: bodyBytes) ?? false }

    /// Replaces the body with its compressed form if that is smaller.
    private func compress(
        _ frame: OpenFrame, _ kind: FrameKind, _ flags: FrameFlags, _ codec: UInt8, _ writer: inout WireWriter
    ) throws(WireError) {
        guard let compressor else { return }
        let bodyStart = frame.start + frame.headerBytes
        do throws(WireError) {
            var form: (flags: FrameFlags, bytes: UnsafeRawBufferPointer)?
            let body = UnsafeRawBufferPointer(rebasing: writer.bytes[bodyStart...])
            _ = try compressor.compress(body) { form = ($0, $1) }
            guard let form else { return try check(body.count, frame, &writer) }
            try check(form.bytes.count, frame, &writer)
            writer.position = bodyStart
            _ = writer.writeHeader(
                of: frame, kind: kind, codec: codec, flags: form.flags.union(flags), bodyBytes: form.bytes.count)
            writer.writeRaw(form.bytes)
        } catch {
            writer.position = frame.start
            throw error
        }
    }

    private func check(_ bodyBytes: Int, _ frame: OpenFrame, _ writer: inout WireWriter) throws(WireError) {
        // Assumes that the length takes five bytes: enough for 32 GiB.
        let most = limits.frameBytes - FrameHeader.fixedBytes - 5 - FrameHeader.checksumBytes
        guard bodyBytes <= most else {
            writer.position = frame.start
            throw WireError(
                .oversized, "a body of \(bodyBytes) bytes exceeds the limit of \(limits.frameBytes) a frame")
        }
    }
}
