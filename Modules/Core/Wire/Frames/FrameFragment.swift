/// A piece of a frame that is too large for one datagram. It is the body of a frame of kind `fragment`.
struct FrameFragment {
    /// Number of the split frame. The sender counts split frames.
    var message: UInt32
    var totalBytes: Int
    /// Size of every piece but the last.
    var pieceBytes: Int
    var index: Int
    var bytes: UnsafeRawBufferPointer

    /// Upper bound for the header, these fields and the checksum of a fragment.
    static let overheadBytes = 32
    static let piecesMax = 4096

    var count: Int { (totalBytes + pieceBytes - 1) / pieceBytes }
    var offset: Int { index * pieceBytes }
}

extension WireWriter {
    /// Appends the frame of one fragment.
    mutating func writeFrame(of fragment: FrameFragment) {
        let frame = openFrame()
        writeVarint(UInt64(fragment.message))
        writeVarint(UInt64(fragment.totalBytes))
        writeVarint(UInt64(fragment.pieceBytes))
        writeVarint(UInt64(fragment.index))
        let bodyBytes = position - frame.start - frame.headerBytes + fragment.bytes.count
        _ = writeHeader(of: frame, kind: .fragment, codec: 0, flags: [], bodyBytes: bodyBytes)
        writeRaw(fragment.bytes)
        write(FrameChecksum.of(UnsafeRawBufferPointer(rebasing: bytes[frame.start...])))
    }
}

extension WireReader {
    /// Reads a fragment. Its piece is the rest of the reader.
    ///
    /// - Throws: `corrupted`, `oversized`, or `truncated`.
    mutating func readFragment(limits: FrameLimits) throws(WireError) -> FrameFragment {
        let message = try readVarint()
        let total = try readVarint()
        let piece = try readVarint()
        let index = try readVarint()
        guard total <= UInt64(limits.frameBytes) else {
            throw WireError(.oversized, "a fragmented frame of \(total) bytes exceeds \(limits.frameBytes)")
        }
        guard let message = UInt32(exactly: message), piece > 0, piece < total else {
            throw WireError(.corrupted, "a fragment of \(piece) bytes is invalid in a frame of \(total)")
        }
        // `piece` is less than `total`, and `total` fits into an `Int`.
        var fragment = FrameFragment(
            message: message, totalBytes: Int(total), pieceBytes: Int(piece), index: 0, bytes: try readRaw(remaining))
        guard fragment.count <= FrameFragment.piecesMax else {
            throw WireError(.oversized, "\(fragment.count) fragments exceed the limit of \(FrameFragment.piecesMax)")
        }
        guard index < UInt64(fragment.count) else {
            throw WireError(.corrupted, "fragment \(index) doesn't exist in a frame of \(fragment.count) fragments")
        }
        fragment.index = Int(index)
        guard fragment.bytes.count == min(fragment.pieceBytes, fragment.totalBytes - fragment.offset) else {
            throw WireError(.corrupted, "fragment \(index) has the wrong size of \(fragment.bytes.count) bytes")
        }
        return fragment
    }
}
