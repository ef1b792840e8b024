// Reassembly of fragmented frames. All pieces of a frame but the last have one size, so an index gives the offset and
// pieces can't overlap. Memory is bounded: if a new frame exceeds the limits, the oldest incomplete ones are dropped.
// Docs/Internals/WireFormat.md, "Fragment".

/// Reassembles frames from the datagrams of one peer. Use one per peer.
///
/// Holds at most `framesMax` incomplete frames of together at most `bytesMax` bytes, each for at most `timeout` after its
/// first piece. The caller passes the time, so tests need no clock.
package struct FrameReassembler: Sendable {
    private struct Partial: Sendable {
        var message: UInt32
        var began: Duration
        var pieceBytes: Int
        var bytes: [UInt8]
        var receivedPieces: [Bool]
        var missing: Int
    }

    /// Maximum number of incomplete frames.
    package let framesMax: Int
    /// Maximum number of bytes of all incomplete frames together.
    package let bytesMax: Int
    /// Time from an incomplete frame's first piece until the frame is dropped.
    package let timeout: Duration
    private let limits: FrameLimits
    /// Incomplete frames, oldest first.
    private var partials: [Partial] = []
    /// Number of incomplete frames that were dropped because of the timeout or the limits.
    package private(set) var droppedCount: UInt64 = 0

    /// Creates a reassembler. A `framesMax` below 1 counts as 1.
    package init(
        framesMax: Int = 8, bytesMax: Int = 2 << 20, timeout: Duration = .seconds(5),
        limits: FrameLimits = FrameLimits()
    ) {
        self.framesMax = max(framesMax, 1)
        self.bytesMax = bytesMax
        self.timeout = timeout
        self.limits = limits
    }

    /// Number of bytes that incomplete frames hold now.
    package var heldBytes: Int { partials.reduce(0) { $0 + $1.bytes.count } }

    /// Takes a datagram. Returns the frame that it contains or completes; nil while pieces are missing.
    ///
    /// Ignores a repeated piece without comparing it: the frame's own checksum covers the result.
    /// - Parameter now: Time since any fixed moment. Must not decrease.
    /// - Throws: `WireError` if the datagram isn't a frame, or is an invalid fragment. Incomplete frames remain.
    package mutating func receive(_ datagram: UnsafeRawBufferPointer, now: Duration) throws(WireError) -> [UInt8]? {
        expire(now: now)
        guard let header = try FrameHeader.parse(datagram, limits: limits) else {
            throw WireError(.truncated, "\(datagram.count) bytes are less than a frame's header")
        }
        guard header.kind == .fragment else { return [UInt8](datagram) }
        guard datagram.count == header.frameBytes else {
            throw WireError(
                .corrupted, "a fragment of \(header.frameBytes) bytes arrived in a datagram of \(datagram.count)")
        }
        try header.verifyChecksum(datagram)
        return try receiveFragment(header, datagram, now: now)
    }

    /// Takes a fragment whose header and checksum are valid.
    mutating func receiveFragment(
        _ header: FrameHeader, _ frame: UnsafeRawBufferPointer, now: Duration
    ) throws(WireError) -> [UInt8]? {
        // `reservedCompression` is both compression bits, so this rejects every compression.
        guard header.flags.isDisjoint(with: [.reservedCompression, .format, .names, .marked]) else {
            throw WireError(.corrupted, "a fragment can't be compressed, and can't have a mark or names")
        }
        var reader = WireReader(header.body(of: frame))
        return try place(try reader.readFragment(limits: limits), now: now)
    }

    /// Takes a datagram in an array. Returns the frame that it contains or completes; nil while pieces are missing.
    package mutating func receive(_ datagram: [UInt8], now: Duration) throws(WireError) -> [UInt8]? {
        try datagram.withUnsafeBufferPointer { bytes throws(WireError) in
            try receive(UnsafeRawBufferPointer(bytes), now: now)
        }
    }

    /// Drops incomplete frames after their timeout. `receive` also does this. Call `expire` while no datagrams arrive.
    package mutating func expire(now: Duration) {
        while let oldest = partials.first, now - oldest.began >= timeout { dropOldest() }
    }

    private mutating func place(_ fragment: FrameFragment, now: Duration) throws(WireError) -> [UInt8]? {
        let index = try partialIndex(for: fragment, now: now)
        guard !partials[index].receivedPieces[fragment.index] else { return nil }
        partials[index].receivedPieces[fragment.index] = true
        partials[index].missing -= 1
        let offset = fragment.offset
        partials[index].bytes.withUnsafeMutableBytes { bytes in
            UnsafeMutableRawBufferPointer(rebasing: bytes[offset...]).copyMemory(from: fragment.bytes)
        }
        guard partials[index].missing == 0 else { return nil }
        return partials.remove(at: index).bytes
    }

    private mutating func partialIndex(for fragment: FrameFragment, now: Duration) throws(WireError) -> Int {
        if let index = partials.firstIndex(where: { $0.message == fragment.message }) {
            let partial = partials[index]
            guard partial.bytes.count == fragment.totalBytes, partial.pieceBytes == fragment.pieceBytes else {
                throw WireError(.corrupted, "pieces of frame \(fragment.message) contradict each other")
            }
            return index
        }
        guard fragment.totalBytes <= bytesMax else {
            throw WireError(
                .oversized,
                "a frame of \(fragment.totalBytes) bytes exceeds the limit of \(bytesMax) for incomplete frames")
        }
        while partials.count >= framesMax || heldBytes + fragment.totalBytes > bytesMax { dropOldest() }
        partials.append(
            Partial(
                message: fragment.message, began: now, pieceBytes: fragment.pieceBytes,
                bytes: [UInt8](repeating: 0, count: fragment.totalBytes),
                receivedPieces: [Bool](repeating: false, count: fragment.count), missing: fragment.count))
        return partials.count - 1
    }

    private mutating func dropOldest() {
        partials.removeFirst()
        droppedCount &+= 1
    }
}
