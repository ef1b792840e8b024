/// A piece of a frame that is too large for one datagram; the body of a frame of kind `fragment`.
///
/// All pieces of a frame but the last are of one size, so that they cannot overlap.
struct FrameFragment {
    /// Which frame of this sender it is a piece of.
    var message: UInt32
    var totalBytes: Int
    /// Of every piece but the last.
    var pieceBytes: Int
    var index: Int
    var bytes: UnsafeRawBufferPointer

    /// More than the header, these fields and the checksum of a fragment ever take.
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
    /// The rest of the reader is the piece.
    ///
    /// - Throws: `corrupted` or `oversized`.
    mutating func readFragment(limits: FrameLimits) throws(WireError) -> FrameFragment {
        let message = try readVarint()
        let total = try readVarint()
        let piece = try readVarint()
        let index = try readVarint()
        guard total <= UInt64(limits.frameBytes) else {
            throw WireError(.oversized, "a fragmented frame of \(total) bytes exceeds \(limits.frameBytes)")
        }
        guard let message = UInt32(exactly: message), piece > 0, piece < total else {
            throw WireError(.corrupted, "a fragment of \(piece) bytes of \(total) is impossible")
        }
        // From here on all are at most `total`, which is within an `Int`.
        var fragment = FrameFragment(
            message: message, totalBytes: Int(total), pieceBytes: Int(piece), index: 0, bytes: try readRaw(remaining))
        guard fragment.count <= FrameFragment.piecesMax else {
            throw WireError(.oversized, "\(fragment.count) fragments exceed the limit of \(FrameFragment.piecesMax)")
        }
        guard index < UInt64(fragment.count) else {
            throw WireError(.corrupted, "fragment \(index) of \(fragment.count)")
        }
        fragment.index = Int(index)
        guard fragment.bytes.count == min(fragment.pieceBytes, fragment.totalBytes - fragment.offset) else {
            throw WireError(.corrupted, "fragment \(index) has \(fragment.bytes.count) bytes")
        }
        return fragment
    }
}
