package import MeshBase

/// Cuts frames that exceed a datagram's limit into frames that do not. One for each sender.
///
/// On a stream too a large frame may travel in pieces, of 16 KiB for instance, so that smaller ones need not wait behind
/// it; it must stand alone then, as in datagrams: made by an encoder that interns nothing.
///
/// A frame of n pieces is lost when one of them is: with one datagram in a hundred lost, every fourth frame of 30 pieces.
/// What matters more goes over a stream.
package struct FrameFragmenter: Sendable {
    /// The most that one datagram may carry.
    package let datagramBytes: Int
    /// Which limit that is, for errors.
    package let limitID: String
    private var nextMessage: UInt32

    /// The least limit that leaves room for a fragment.
    package static let datagramBytesMin = 64

    /// - Parameter firstMessage: the number of the first frame that is cut. A sender that restarts should begin at a
    ///   random one, so that pieces of its former life are not taken for new ones.
    /// - Precondition: the limit is at least `datagramBytesMin`.
    package init(limit: PayloadLimit = .udpSafe, firstMessage: UInt32 = 0) {
        precondition(limit.bytes >= Self.datagramBytesMin, "no fragment fits \(limit.bytes) bytes")
        datagramBytes = limit.bytes
        limitID = limit.id
        nextMessage = firstMessage
    }

    /// Calls `send` with each datagram of a frame, in order: with the frame itself when it fits.
    ///
    /// The datagrams are valid during the call only.
    /// - Throws: `WireError` with `oversized` above 4096 pieces, before anything is sent; what `send` throws.
    package mutating func fragment(
        _ frame: UnsafeRawBufferPointer, send: (UnsafeRawBufferPointer) throws -> Void
    ) throws {
        guard frame.count > datagramBytes else { return try send(frame) }
        let pieceBytes = datagramBytes - FrameFragment.overheadBytes
        var fragment = FrameFragment(
            message: nextMessage, totalBytes: frame.count, pieceBytes: pieceBytes, index: 0, bytes: frame)
        guard fragment.count <= FrameFragment.piecesMax else {
            throw WireError(
                .oversized, "\(frame.count) bytes need more than \(FrameFragment.piecesMax) of '\(limitID)'")
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

    /// The datagrams of a frame.
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
