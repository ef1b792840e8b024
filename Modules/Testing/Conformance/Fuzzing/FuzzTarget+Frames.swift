import MeshFoundation
import MeshIdentity
import MeshWire

/// Makes the frame decoders that targets attack.
struct FrameReaders {
    let table: CodecTable
    let formats: [any CompressionFormat]

    func makeDecoder() -> FrameDecoder { FrameDecoder(codecs: table, formats: formats) }
    func makeStreamDecoder() -> FrameStreamDecoder { FrameStreamDecoder(codecs: table, formats: formats) }
    func makeDatagramDecoder() -> FrameDecoder { FrameDecoder(codecs: table, formats: formats, numbering: nil) }
}

extension FuzzTarget {
    /// A target for a frame with a valid checksum, alone and twice on a connection. The first three bytes are its kind,
    /// codec and flags; the rest is its body. A decoded frame must survive a round trip.
    static func frame(_ readers: FrameReaders) -> FuzzTarget {
        FuzzTarget("frame") { input in
            guard input.count >= 3 else { return }
            let body = UnsafeRawBufferPointer(rebasing: input[3...])
            let frame = RawFrameBuilder.frame(kind: input[0], codec: input[1], flags: input[2], body: body)
            try attackConnection(frame, readers)
            try attackDatagrams(frame, readers)
            var decoder = readers.makeDecoder()
            guard let read = try? decoder.decodeFrame(frame), let codec = readers.table.codecs.first else { return }
            var encoder = FrameEncoder(codec: codec)
            guard let again = try? encoder.encode(read.message, mark: read.mark) else { return }
            let reread = try? decoder.decodeFrame(again)
            try require(reread.map { $0.mark == read.mark } ?? false, "a mark survives a round trip")
            switch (read.message, reread?.message) {
            case (.envelope(let sent), .envelope(let received)):
                try require(areSame(sent.metadata, received.metadata), "metadata survives a round trip")
            case (.snapshot(let sent), .snapshot(let received)):
                try require(areSame(sent.metadata, received.metadata), "metadata survives a round trip")
                try require(sent.peerSequenceVector == received.peerSequenceVector, "a vector survives a round trip")
                try require(sent.checkpoint == received.checkpoint, "a checkpoint survives a round trip")
            case (.report(let sent), .report(let received)):
                try require(sent == received, "a report survives a round trip")
            case (.hello, .hello), (.snapshotRequest, .snapshotRequest), (.goodbye, .goodbye): break
            default: try require(false, "what was read can be written and read again")
            }
        }
    }

    /// Requires that a connection can decode and encode a frame a second time, with the state that the first time left.
    private static func attackConnection(_ frame: [UInt8], _ readers: FrameReaders) throws {
        guard let codec = readers.table.codecs.first else { return }
        var reader = readers.makeStreamDecoder()
        reader.append(frame)
        reader.append(frame)
        var writer = FrameEncoder(codec: codec, interning: true)
        var other = readers.makeStreamDecoder()
        while let frame = try? reader.nextFrame() {
            guard let again = try? writer.encode(frame.message, mark: frame.mark) else { return }
            other.append(again)
            let reread = try? other.nextFrame()
            guard case .envelope(let sent) = frame.message else { continue }
            guard case .envelope(let received)? = reread?.message else {
                return try require(false, "an envelope is written and read again on a connection")
            }
            try require(frame.mark == reread?.mark, "a mark survives a connection")
            let bytes = try? (sent.encodedPayload(with: codec).bytes, received.encodedPayload(with: codec).bytes)
            try require(bytes.map { $0 == $1 } ?? false, "a payload survives a connection")
        }
    }

    /// Requires that a datagram can be decoded and encoded again, both with identities and with their numbers.
    private static func attackDatagrams(_ frame: [UInt8], _ readers: FrameReaders) throws {
        guard let codec = readers.table.codecs.first else { return }
        var reader = readers.makeDatagramDecoder()
        var frames: [WireFrame] = []
        try? reader.decode(joined: frame + frame, into: &frames)
        var writer = FrameEncoder(datagramsOf: codec, compression: .stored, epoch: 1)
        var other = readers.makeDatagramDecoder()
        writer.setKnownIdentities(KnownIdentities(epoch: 1, numbers: 0))
        for frame in frames {
            guard case .envelope(let sent) = frame.message, let again = try? writer.encode(frame.message) else {
                return
            }
            var reread: [WireFrame] = []
            try? other.decode(joined: again, into: &reread)
            guard case .envelope(let received)? = reread.first?.message else {
                return try require(false, "an envelope is written and read again in a datagram")
            }
            try require(areSame(sent.metadata, received.metadata), "metadata survives a datagram")
            writer.setKnownIdentities(other.takeKnownIdentities() ?? KnownIdentities(epoch: 1, numbers: .max))
        }
    }

    /// Compares times by their bits: peers may send NaN, which differs from itself.
    private static func areSame(_ left: SessionSyncMetadata, _ right: SessionSyncMetadata) -> Bool {
        func bits(_ metadata: SessionSyncMetadata) -> [UInt64?] {
            [
                metadata.causalTimestamp.timeIntervalSinceReferenceDate.bitPattern,
                metadata.monotonicTimestamp?.bitPattern,
            ]
        }
        guard bits(left) == bits(right) else { return false }
        func timeless(_ metadata: SessionSyncMetadata) -> SessionSyncMetadata {
            var metadata = metadata
            (metadata.causalTimestamp, metadata.monotonicTimestamp) = (.distantPast, nil)
            return metadata
        }
        return timeless(left) == timeless(right)
    }

    /// A target for a stream of frames, valid or not. The first byte chooses the size of the pieces in which the stream
    /// arrives. The size must not affect the result.
    static func stream(_ readers: FrameReaders) -> FuzzTarget {
        FuzzTarget("stream") { input in
            guard let first = input.first else { return }
            let bytes = UnsafeRawBufferPointer(rebasing: input[1...])
            let whole = readStream(bytes, pieces: max(bytes.count, 1), readers)
            let cut = readStream(bytes, pieces: Int(first) % 32 + 1, readers)
            try require(whole == cut, "the cut of a stream does not matter")
        }
    }

    /// Returns the numbers of frames read and skipped, and the error that ended the stream.
    private static func readStream(_ bytes: UnsafeRawBufferPointer, pieces: Int, _ readers: FrameReaders) -> [String] {
        var decoder = readers.makeStreamDecoder()
        var count = 0
        var offset = 0
        while offset < bytes.count {
            let end = min(offset + pieces, bytes.count)
            decoder.append(UnsafeRawBufferPointer(rebasing: bytes[offset..<end]))
            offset = end
            while (try? decoder.next()) != nil { count += 1 }
        }
        return ["\(count)", "\(decoder.skippedCount)", decoder.failure.map { "\($0.code)" } ?? "none"]
    }

    /// A target for a compressed body. The first two bytes are the size that it claims.
    static var inflate: FuzzTarget {
        FuzzTarget("inflate") { input in
            guard input.count >= 2, let inflater = try? ZlibInflater() else { return }
            let count = Int(input[0]) | Int(input[1]) << 8
            let body = UnsafeRawBufferPointer(rebasing: input[2...])
            guard let inflated = try? inflater.inflate(body, count: count) else { return }
            try require(inflated.count == count, "an inflated body has the size that it claims")
        }
    }

    /// A target for a body in a compression format. The first two bytes are the size that it claims, and the third says
    /// whether it uses the built-in dictionary.
    static func decompress(_ format: any CompressionFormat) -> FuzzTarget {
        FuzzTarget(format.name) { input in
            guard input.count >= 3, let decompressor = try? format.makeDecompressor() else { return }
            let count = Int(input[0]) | Int(input[1]) << 8
            let dictionary = input[2] & 1 == 0 ? nil : CompressionDictionary.builtIn
            let body = UnsafeRawBufferPointer(rebasing: input[3...])
            guard let content = try decompressed(body, count, dictionary, by: decompressor) else { return }
            let compressor = try format.makeCompressor(level: 1, dictionary: dictionary)
            var again = [UInt8](repeating: 0, count: content.count + content.count / 128 + 64)
            let size = try content.withUnsafeBytes { content in
                try again.withUnsafeMutableBytes { try compressor.compress(content, into: $0) }
            }
            guard let size else { return try require(false, "a body fits into a little more than its size") }
            let reread = try again[..<size].withUnsafeBytes {
                try decompressed($0, count, dictionary, by: decompressor)
            }
            try require(reread == content, "a body survives a round trip")
        }
    }

    /// Returns nil if the decompressor throws, or reports another size than `count`.
    private static func decompressed(
        _ body: UnsafeRawBufferPointer, _ count: Int, _ dictionary: CompressionDictionary?,
        by decompressor: any FormatDecompressor
    ) throws -> [UInt8]? {
        var output = [UInt8](repeating: 0xEE, count: count + 64)
        let size = output.withUnsafeMutableBytes { output in
            let space = UnsafeMutableRawBufferPointer(rebasing: output[..<count])
            return try? decompressor.decompress(body, into: space, dictionary: dictionary)
        }
        try require(output[count...].allSatisfy { $0 == 0xEE }, "nothing is written beyond the stated size")
        return size == count ? Array(output[..<count]) : nil
    }
}
