/// Reads frames that stand on their own: datagrams, files, messages of a queue.
///
/// Keeps a zlib stream and a buffer for reuse, nothing of what it has read. A frame that relies on earlier ones of its
/// connection is `corrupted` here; `FrameStreamDecoder` reads those.
public struct FrameDecoder: ~Copyable, @unchecked Sendable {
    // Sendable although it holds a class that is not: the class is private to this one owner.
    private var bodies: BodyDecoder
    private let limits: FrameLimits

    /// Creates a decoder for frames that may come from any peer.
    ///
    /// - Parameter dictionaries: known beside the built-in one.
    public init(codecs: CodecTable, dictionaries: [CompressionDictionary] = [], limits: FrameLimits = FrameLimits()) {
        self.limits = limits
        bodies = BodyDecoder(codecs: codecs, dictionaries: dictionaries, limits: limits, internedIdentities: 0)
    }

    /// Creates a decoder for the datagrams of one sender, which may give numbers to identities.
    ///
    /// - Parameter identities: what an encoder has introduced, to read its own datagrams; nil is nothing yet.
    package init(codecs: CodecTable, numbering identities: SentIdentities?) {
        limits = FrameLimits()
        bodies = BodyDecoder(
            codecs: codecs, dictionaries: [], limits: limits, internedIdentities: 0,
            numbering: identities?.numbering ?? IdentityNumbering(epoch: 0))
    }

    /// What the sender is to be told of its identities; nil if it knows that. For datagrams.
    package mutating func takeKnownIdentities() -> KnownIdentities? { bodies.takeStatement() }

    /// The message in exactly one frame; nil when it is of a kind that this version does not know and may skip.
    ///
    /// - Throws: every code of `WireError` that is about reading.
    public mutating func decode(_ frame: UnsafeRawBufferPointer) throws(WireError) -> WireMessage? {
        try decodeFrame(frame)?.message
    }

    /// Decodes the message of a frame in an array, or returns nil for a kind that this version doesn't know and may
    /// skip.
    public mutating func decode(_ frame: [UInt8]) throws(WireError) -> WireMessage? {
        try decodeFrame(frame)?.message
    }

    /// Decodes a frame with its mark and message, or returns nil for a kind that this version doesn't know and may
    /// skip.
    ///
    /// - Throws: every code of `WireError` that is about reading.
    public mutating func decodeFrame(_ frame: UnsafeRawBufferPointer) throws(WireError) -> WireFrame? {
        let header = try wholeFrame(frame)
        return try bodies.decode(header, frame)
    }

    /// Decodes a frame in an array with its mark and message.
    public mutating func decodeFrame(_ frame: [UInt8]) throws(WireError) -> WireFrame? {
        try frame.withUnsafeBufferPointer { bytes throws(WireError) in try decodeFrame(UnsafeRawBufferPointer(bytes)) }
    }

    /// Decodes the frames that were joined in one datagram, in order, and skips those of kinds that this version doesn't know
    /// and may skip. A frame that refers to an identity that hasn't come counts as lost, and `takeKnownIdentities` says what to
    /// tell the sender.
    ///
    /// - Throws: every code of `WireError` that is about reading. Frames before the faulty one stay in `frames`.
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
                guard bodies.takeMissed() else { throw error }
            }
            rest = UnsafeRawBufferPointer(rebasing: rest[length...])
        } while !rest.isEmpty
    }

    /// The header of bytes that are one frame and nothing else.
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
    /// - Parameter frame: `frameBytes` of them.
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
