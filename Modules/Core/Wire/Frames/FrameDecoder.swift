/// Decodes frames that don't depend on earlier ones, such as those in datagrams, files and queues.
///
/// Throws `corrupted` for a frame that relies on earlier frames of its connection; `FrameStreamDecoder` reads those.
/// Reuses a zlib stream, a buffer and the last identity, which doesn't affect the result.
public struct FrameDecoder: ~Copyable, @unchecked Sendable {
    // Sendable although it holds an object that isn't: nothing else refers to that object.
    private var bodies: BodyDecoder
    private let limits: FrameLimits

    /// Creates a decoder for frames from any peer.
    ///
    /// - Parameters:
    ///   - dictionaries: Dictionaries in addition to the built-in one.
    ///   - formats: Compression formats in addition to deflate.
    public init(
        codecs: CodecTable, dictionaries: [CompressionDictionary] = [], formats: [any CompressionFormat] = [],
        limits: FrameLimits = FrameLimits()
    ) {
        self.limits = limits
        bodies = BodyDecoder(
            codecs: codecs, dictionaries: dictionaries, formats: formats, limits: limits, internedIdentities: 0)
    }

    /// Creates a decoder for the datagrams of one sender, in which numbers may replace identities.
    ///
    /// - Parameter identities: Identities that the sender's encoder has already introduced; nil for none.
    package init(
        codecs: CodecTable, dictionaries: [CompressionDictionary] = [], formats: [any CompressionFormat] = [],
        numbering identities: SentIdentities?
    ) {
        limits = FrameLimits()
        bodies = BodyDecoder(
            codecs: codecs, dictionaries: dictionaries, formats: formats, limits: limits, internedIdentities: 0,
            numbering: identities?.numbering ?? IdentityNumbering(epoch: 0))
    }

    /// Returns the report of known identities that the datagrams' sender must get; nil if none is due.
    package mutating func takeKnownIdentities() -> KnownIdentities? { bodies.takeReport() }

    /// Decodes the message of exactly one frame. Returns nil if this version doesn't know its kind and may skip it.
    ///
    /// - Throws: `WireError` if the bytes aren't one valid frame, or this reader doesn't support the frame.
    public mutating func decode(_ frame: UnsafeRawBufferPointer) throws(WireError) -> WireMessage? {
        try decodeFrame(frame)?.message
    }

    /// Decodes the message of a frame in an array. Returns nil if this version doesn't know its kind and may skip it.
    public mutating func decode(_ frame: [UInt8]) throws(WireError) -> WireMessage? {
        try decodeFrame(frame)?.message
    }

    /// Decodes a frame with its mark and message. Returns nil if this version doesn't know its kind and may skip it.
    ///
    /// - Throws: `WireError` if the bytes aren't one valid frame, or this reader doesn't support the frame.
    public mutating func decodeFrame(_ frame: UnsafeRawBufferPointer) throws(WireError) -> WireFrame? {
        let header = try wholeFrame(frame)
        return try bodies.decode(header, frame)
    }

    /// Decodes a frame in an array with its mark and message.
    public mutating func decodeFrame(_ frame: [UInt8]) throws(WireError) -> WireFrame? {
        try frame.withUnsafeBufferPointer { bytes throws(WireError) in try decodeFrame(UnsafeRawBufferPointer(bytes)) }
    }

    /// Decodes the frames of one datagram, in order. Skips frames of an unknown kind that may be skipped.
    ///
    /// Drops a frame that refers to an identity by number if the identity's introduction hasn't arrived.
    /// `takeKnownIdentities` then returns a report for the sender.
    /// - Throws: `WireError` if the bytes aren't valid frames, or this reader doesn't support one. Frames before the
    ///   faulty one stay in `frames`.
    package mutating func decode(joined datagram: [UInt8], into frames: inout [WireFrame]) throws(WireError) {
        try datagram.withUnsafeBufferPointer { bytes throws(WireError) in
            try decode(joined: UnsafeRawBufferPointer(bytes), into: &frames)
        }
    }

    private mutating func decode(
        joined datagram: UnsafeRawBufferPointer, into frames: inout [WireFrame]
    ) throws(WireError) {
        var rest = datagram
        repeat {
            var length = rest.count
            if let header = try FrameHeader.parse(rest, limits: limits) { length = min(length, header.frameBytes) }
            do throws(WireError) {
                let frame = try decodeFrame(UnsafeRawBufferPointer(rebasing: rest[..<length]))
                if let frame { frames.append(frame) }
            } catch {
                guard bodies.takeUnknownNumberFlag() else { throw error }
            }
            rest = UnsafeRawBufferPointer(rebasing: rest[length...])
        } while !rest.isEmpty
    }

    /// Parses the header of bytes that are exactly one frame.
    private func wholeFrame(_ frame: UnsafeRawBufferPointer) throws(WireError) -> FrameHeader {
        guard let header = try FrameHeader.parse(frame, limits: limits) else {
            throw WireError(.truncated, "\(frame.count) bytes are less than a frame's header")
        }
        guard frame.count >= header.frameBytes else {
            throw .truncated(needed: header.frameBytes, remaining: frame.count)
        }
        guard frame.count == header.frameBytes else {
            throw WireError(.trailingBytes, "\(frame.count - header.frameBytes) bytes follow the frame")
        }
        try header.verifyChecksum(frame)
        return header
    }
}

extension FrameHeader {
    /// - Parameter frame: The complete frame, of `frameBytes` bytes.
    func verifyChecksum(_ frame: UnsafeRawBufferPointer) throws(WireError) {
        let end = frame.count - Self.checksumBytes
        let stated = UInt32(littleEndian: frame.loadUnaligned(fromByteOffset: end, as: UInt32.self))
        guard FrameChecksum.of(UnsafeRawBufferPointer(rebasing: frame[..<end])) == stated else {
            throw WireError(.corrupted, "the frame does not match its checksum")
        }
    }

    func body(of frame: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(rebasing: frame[headerBytes..<(headerBytes + bodyBytes)])
    }
}
