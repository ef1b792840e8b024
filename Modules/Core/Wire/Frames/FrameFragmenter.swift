package import MeshBase

/// Splits frames that exceed a datagram's limit into smaller frames. Use one per sender.
///
/// A stream can also send a large frame in pieces, for example of 16 KiB, so that smaller frames needn't wait behind it.
/// Such a frame must stand alone, as in datagrams: its encoder must not intern.
///
/// Losing one piece loses the whole frame: if 1 % of datagrams are lost, so are 26 % of the frames with 30 pieces. Send
/// important messages over a stream.
package struct FrameFragmenter: Sendable {
    /// Maximum number of bytes in a datagram.
    package let datagramBytes: Int
    /// Name of the datagram limit, for errors.
    package let limitID: String
    private var nextMessage: UInt32

    /// The smallest `limit.bytes` that `init` accepts. A fragment takes up to 32 bytes in addition to its piece.
    package static let datagramBytesMin = 64

    /// - Parameter firstMessage: The number of the first split frame. Choose it at random in each launch, so that
    ///   receivers don't mix in pieces from the previous launch.
    /// - Precondition: The limit is at least `datagramBytesMin`.
    package init(limit: PayloadLimit = .udpSafe, firstMessage: UInt32 = 0) {
        precondition(
            limit.bytes >= Self.datagramBytesMin, "a fragment needs a limit of at least \(Self.datagramBytesMin) bytes")
        datagramBytes = limit.bytes
        limitID = limit.id
        nextMessage = firstMessage
    }

    /// Calls `send` with each datagram of a frame, in order. A frame that fits is sent unchanged.
    ///
    /// The datagrams are valid only during the call.
    /// - Throws: `WireError` with `oversized` above 4096 pieces, before anything is sent, and the errors of `send`.
    package mutating func fragment(
        _ frame: UnsafeRawBufferPointer, send: (UnsafeRawBufferPointer) throws -> Void
    ) throws {
        guard frame.count > datagramBytes else { return try send(frame) }
        let pieceBytes = datagramBytes - FrameFragment.overheadBytes
        var fragment = FrameFragment(
            message: nextMessage, totalBytes: frame.count, pieceBytes: pieceBytes, index: 0, bytes: frame)
        guard fragment.count <= FrameFragment.piecesMax else {
            throw WireError(
                .oversized, "\(frame.count) bytes need more than \(FrameFragment.piecesMax) datagrams of '\(limitID)'")
        }
        nextMessage &+= 1
        var writer = WireWriter(capacity: datagramBytes)
        for index in 0..<fragment.count {
            fragment.index = index
            let end = min(fragment.offset + pieceBytes, frame.count)
            fragment.bytes = UnsafeRawBufferPointer(rebasing: frame[fragment.offset..<end])
            writer.reset()
            writer.writeFrame(of: fragment)
            try send(writer.bytes)
        }
    }

    /// Returns the datagrams of a frame.
    ///
    /// - Throws: `WireError` with `oversized` above 4096 pieces.
    package mutating func fragments(of frame: [UInt8]) throws -> [[UInt8]] {
        var datagrams: [[UInt8]] = []
        try frame.withUnsafeBytes { bytes in
            try fragment(bytes) { datagrams.append([UInt8]($0)) }
        }
        return datagrams
    }
}
