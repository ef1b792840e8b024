import MeshIdentity

/// Decodes the body of a frame whose header and checksum are valid.
struct BodyDecoder: ~Copyable {
    let codecs: CodecTable
    private let dictionaries: DictionaryTable
    private let limits: FrameLimits
    private var table: InterningTable
    private var names: NameTable
    private let formats: [any CompressionFormat]
    private var inflater: ZlibInflater?
    private var decompressors: [(number: UInt8, decompressor: any FormatDecompressor)] = []
    private var inflated = WireWriter(capacity: 64)
    /// True if frames may refer to earlier ones of their connection.
    private let isConnection: Bool

    init(
        codecs: CodecTable, dictionaries: [CompressionDictionary], formats: [any CompressionFormat],
        limits: FrameLimits, internedIdentities: Int, numbering: IdentityNumbering? = nil
    ) {
        self.codecs = codecs
        self.dictionaries = DictionaryTable(dictionaries)
        self.formats = formats
        self.limits = limits
        table = InterningTable(capacity: internedIdentities, numbering: numbering)
        isConnection = internedIdentities > 0
        names = NameTable(capacity: isConnection ? NameTable.capacityMax : 0)
    }

    /// Returns true if a frame couldn't be read because its identity wasn't introduced yet. Resets the flag.
    mutating func takeUnknownNumberFlag() -> Bool { table.numbering?.takeUnknownNumberFlag() ?? false }

    mutating func takeReport() -> KnownIdentities? { table.numbering?.takeReport() }

    /// Returns the message and its mark; nil if this version doesn't know the frame's kind and may skip it.
    mutating func decode(_ header: FrameHeader, _ frame: UnsafeRawBufferPointer) throws(WireError) -> WireFrame? {
        let body = header.body(of: frame)
        let isStored = header.flags.compression == 0 && !header.flags.contains(.format)
        if isStored { return try decode(header, body: body) }
        try inflate(body, header.flags)
        defer { freeLargeBuffer() }
        return try decode(header, body: inflated.bytes)
    }

    /// Frees a large buffer. Call it after the payload has been copied.
    private mutating func freeLargeBuffer() {
        if inflated.capacity > Self.keptBytes { inflated = WireWriter(capacity: 64) }
    }

    private static let keptBytes = 1 << 18

    private mutating func decode(
        _ header: FrameHeader, body: UnsafeRawBufferPointer
    ) throws(WireError) -> WireFrame? {
        try checkFlags(header)
        var reader = WireReader(body)
        let mark = header.flags.contains(.marked) ? try reader.readMark() : nil
        guard let message = try readMessage(header, &reader) else { return nil }
        return WireFrame(message, mark: mark)
    }

    private mutating func readMessage(
        _ header: FrameHeader, _ reader: inout WireReader
    ) throws(WireError) -> WireMessage? {
        switch header.kind {
        case .envelope:
            let metadata = try reader.readMetadata(interning: &table)
            let codec = try codecs.codec(header.codec)
            let payload = EncodedPayload(bytes: try readPayload(header, &reader), codec: codec)
            return .envelope(AnySessionSyncEnvelope(metadata: metadata, payload: payload))
        case .snapshot:
            let metadata = try reader.readMetadata(interning: &table)
            let codec = try codecs.codec(header.codec)
            let head = try reader.readSnapshotHead(limits: limits)
            let state = EncodedPayload(bytes: try readPayload(header, &reader), codec: codec)
            return .snapshot(
                AnySessionSyncSnapshot(
                    metadata: metadata, revision: head.revision, peerSequenceVector: head.vector, state: state,
                    checkpoint: head.checkpoint))
        case .hello: return .hello(try reader.readAll { reader throws(WireError) in try reader.readHello() })
        case .snapshotRequest:
            return .snapshotRequest(try reader.readAll { reader throws(WireError) in try reader.readSnapshotRequest() })
        case .goodbye: return .goodbye(try reader.readAll { reader throws(WireError) in try reader.readGoodbye() })
        case .report: return .report(try reader.readAll { reader throws(WireError) in try reader.readReport() })
        case .fragment: throw WireError(.corrupted, "a fragment is not a message; pass it to FrameReassembler")
        default:
            if header.flags.contains(.skippable) { return nil }
            throw WireError(.unsupportedVersion, "frames of kind \(header.kind.rawValue) are unknown to this reader")
        }
    }

    // MARK: - Payloads

    /// Reads the rest of a body as a payload. Replaces the connection's numbers by names, so that the payload stands
    /// alone.
    private mutating func readPayload(_ header: FrameHeader, _ reader: inout WireReader) throws(WireError) -> [UInt8] {
        if header.flags.contains(.names) { return try names.readPayload(&reader) }
        return [UInt8](try reader.readRaw(reader.remaining))
    }

    /// Throws if the frame has a mark or names that a frame of its kind, connection or codec can't have.
    private func checkFlags(_ header: FrameHeader) throws(WireError) {
        guard !header.flags.isDisjoint(with: [.names, .marked]) else { return }
        guard header.kind == .envelope || header.kind == .snapshot else {
            throw WireError(.corrupted, "only envelopes and snapshots can have a mark or names")
        }
        guard header.flags.contains(.names) else { return }
        guard isConnection else {
            throw WireError(.corrupted, "the frame refers to names of a connection, but must stand alone")
        }
        guard header.codec == CompactCodec.id.number else {
            throw WireError(.corrupted, "the frame lists names, but its payload isn't 'compact'")
        }
    }

    // MARK: - Inflation

    private mutating func inflate(_ body: UnsafeRawBufferPointer, _ flags: FrameFlags) throws(WireError) {
        guard flags.compression != FrameFlags.reservedCompression.rawValue else {
            throw WireError(
                .unsupportedVersion,
                "compression 3, one zlib stream of a connection, is reserved; only early versions wrote it")
        }
        guard flags.compression != 0 else {
            throw WireError(.corrupted, "the frame has a compression format, but its body isn't compressed")
        }
        var reader = WireReader(body)
        let format = flags.contains(.format) ? try reader.readUInt8() : nil
        let decompressor = try format.map { number throws(WireError) in try startedDecompressor(number) }
        let dictionary =
            flags.compression == FrameFlags.compressedWithDictionary.rawValue
            ? try dictionaries.dictionary(try reader.readUInt32()) : nil
        let count = Int(clamping: try reader.readVarint())
        let bytes = try reader.readRaw(reader.remaining)
        try limits.checkInflation(of: bytes.count, to: count)
        inflated.reset()
        let output = inflated.spareCapacity(for: count + ZlibInflater.slackBytes)
        if let decompressor {
            let space = UnsafeMutableRawBufferPointer(rebasing: output[..<count])
            guard try decompressor.decompress(bytes, into: space, dictionary: dictionary) == count else {
                throw WireError(.corrupted, "the compressed body doesn't inflate to its stated length")
            }
        } else {
            try startedInflater().inflate(bytes, into: output, count: count, dictionary: dictionary)
        }
        inflated.position = count
    }

    /// - Throws: `unsupportedVersion` if the format isn't registered here.
    private mutating func startedDecompressor(_ number: UInt8) throws(WireError) -> any FormatDecompressor {
        if let started = decompressors.first(where: { $0.number == number }) { return started.decompressor }
        guard let format = formats.first(where: { $0.number == number }) else {
            throw WireError(.unsupportedVersion, "compression format \(number) isn't registered here")
        }
        let started = try format.makeDecompressor()
        decompressors.append((number, started))
        return started
    }

    private mutating func startedInflater() throws(WireError) -> ZlibInflater {
        if let inflater { return inflater }
        let started = try ZlibInflater()
        inflater = started
        return started
    }
}

extension WireReader {
    /// Reads a message that must take all remaining bytes.
    fileprivate mutating func readAll<Value>(
        _ read: (inout WireReader) throws(WireError) -> Value
    ) throws(WireError) -> Value {
        let value = try read(&self)
        guard isAtEnd else { throw WireError(.trailingBytes, "\(remaining) bytes follow the message") }
        return value
    }
}
