/// Decodes frames that stand alone: datagrams, files, messages of a queue.
///
/// Caches a zlib stream, a buffer and the last identity, but no frame depends on an earlier one. A frame that relies on
/// earlier frames of its connection is `corrupted` here. `FrameStreamDecoder` reads those.
public struct FrameDecoder: ~Copyable, @unchecked Sendable {
    // Sendable although it holds an object that isn't: nothing else refers to that object.
    private var bodies: BodyDecoder
    private let limits: FrameLimits

    /// Creates a decoder for frames from any peer.
    ///
    /// - Parameter dictionaries: Dictionaries in addition to the built-in one.
    public init(codecs: CodecTable, dictionaries: [CompressionDictionary] = [], limits: FrameLimits = FrameLimits()) {
        self.limits = limits
        bodies = BodyDecoder(codecs: codecs, dictionaries: dictionaries, limits: limits, internedIdentities: 0)
    }

    /// Creates a decoder for the datagrams of one sender, in which numbers may replace identities.
    ///
    /// - Parameter identities: Identities that an encoder has introduced, to read its datagrams; nil for none.
    package init(codecs: CodecTable, numbering identities: SentIdentities?) {
        limits = FrameLimits()
        bodies = BodyDecoder(
            codecs: codecs, dictionaries: [], limits: limits, internedIdentities: 0,
            numbering: identities?.numbering ?? IdentityNumbering(epoch: 0))
    }

    /// Returns the known identities that must be reported to the sender; nil if there is nothing to report. For datagrams.
    package mutating func takeKnownIdentities() -> KnownIdentities? { bodies.takeReport() }

    /// Decodes the message of exactly one frame. Returns nil if this version doesn't know its kind and may skip it.
    ///
    /// - Throws: `WireError` with any code for reading.
    public mutating func decode(_ frame: UnsafeRawBufferPointer) throws(WireError) -> WireMessage? {
        try decodeFrame(frame)?.message
    }

    /// Decodes the message of a frame in an array. Returns nil if this version doesn't know its kind and may skip it.
    public mutating func decode(_ frame: [UInt8]) throws(WireError) -> WireMessage? {
        try decodeFrame(frame)?.message
    }

    /// Decodes a frame with its mark and message. Returns nil if this version doesn't know its kind and may skip it.
    ///
    /// - Throws: `WireError` with any code for reading.
    public mutating func decodeFrame(_ frame: UnsafeRawBufferPointer) throws(WireError) -> WireFrame? {
        let header = try wholeFrame(frame)
        return try bodies.decode(header, frame)
    }

    /// Decodes a frame in an array with its mark and message.
    public mutating func decodeFrame(_ frame: [UInt8]) throws(WireError) -> WireFrame? {
        try frame.withUnsafeBufferPointer { bytes throws(WireError) in try decodeFrame(UnsafeRawBufferPointer(bytes)) }
    }

    /// Decodes the frames of one datagram, in order. Skips frames whose kind this version doesn't know and may skip.
    ///
    /// A frame with an identity whose introduction hasn't arrived counts as lost. `takeKnownIdentities` then returns a report
    /// for the sender.
    /// - Throws: `WireError` with any code for reading. Frames before the faulty one stay in `frames`.
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
