/// Puts the datagrams of one peer together to frames again. One for each peer.
///
/// Bounded in space and time: at most `framesMax` incomplete frames of together at most `bytesMax` bytes, each for at most
/// `timeout` after its first piece. When there is no room, the oldest incomplete frame makes it. Time is what the caller
/// passes, so tests need no clock.
package struct FrameReassembler: Sendable {
    private struct Partial: Sendable {
        var message: UInt32
        var began: Duration
        var pieceBytes: Int
        var bytes: [UInt8]
        var has: [Bool]
        var missing: Int
    }

    /// Incomplete frames at a time.
    package let framesMax: Int
    /// Bytes of all incomplete frames together.
    package let bytesMax: Int
    /// How long a frame may lack pieces after its first.
    package let timeout: Duration
    private let limits: FrameLimits
    /// Oldest first.
    private var partials: [Partial] = []
    /// Incomplete frames that were given up, for time or for room.
    package private(set) var abandonedCount: UInt64 = 0

    /// At least one incomplete frame is kept, whatever is asked.
    package init(
        framesMax: Int = 8, bytesMax: Int = 2 << 20, timeout: Duration = .seconds(5),
        limits: FrameLimits = FrameLimits()
    ) {
        self.framesMax = max(framesMax, 1)
        self.bytesMax = bytesMax
        self.timeout = timeout
        self.limits = limits
    }

    /// Bytes that incomplete frames hold now.
    package var heldBytes: Int { partials.reduce(0) { $0 + $1.bytes.count } }

    /// Takes a datagram and returns the frame that it is or completes; nil while pieces are missing.
    ///
    /// A piece that is already there is ignored, whatever it says: the frame's own checksum judges the whole.
    /// - Parameter now: the time since any fixed moment; it must not run backwards.
    /// - Throws: `WireError` when the datagram is no frame, or a fragment that cannot be; incomplete frames remain.
    package mutating func receive(_ datagram: UnsafeRawBufferPointer, now: Duration) throws(WireError) -> [UInt8]? {
        expire(now: now)
        guard let header = try FrameHeader.parse(datagram, limits: limits) else {
            throw WireError(.truncated, "\(datagram.count) bytes are less than a frame's header")
        }
        guard header.kind == .fragment else { return [UInt8](datagram) }
        guard datagram.count == header.frameBytes else {
            throw WireError(.corrupted, "a fragment of \(header.frameBytes) bytes arrives as \(datagram.count)")
        }
        try header.verifyChecksum(datagram)
        return try receiveFragment(header, datagram, now: now)
    }

    /// Takes a fragment whose header and checksum are in order.
    mutating func receiveFragment(
        _ header: FrameHeader, _ frame: UnsafeRawBufferPointer, now: Duration
    ) throws(WireError) -> [UInt8]? {
        // The first covers both bits of every compression.
        guard header.flags.isDisjoint(with: [.reservedCompression, .names, .marked]) else {
            throw WireError(.corrupted, "a fragment is never compressed, and has no mark and no names")
        }
        var reader = WireReader(header.body(of: frame))
        return try place(try reader.readFragment(limits: limits), now: now)
    }

    /// The same from an array.
    package mutating func receive(_ datagram: [UInt8], now: Duration) throws(WireError) -> [UInt8]? {
        try datagram.withUnsafeBufferPointer { bytes throws(WireError) in
            try receive(UnsafeRawBufferPointer(bytes), now: now)
        }
    }

    /// Gives up what has waited for too long. `receive` does so too; call this when nothing arrives.
    package mutating func expire(now: Duration) {
        while let oldest = partials.first, now - oldest.began >= timeout { abandonOldest() }
    }

    private mutating func place(_ fragment: FrameFragment, now: Duration) throws(WireError) -> [UInt8]? {
        let index = try partialIndex(for: fragment, now: now)
        guard !partials[index].has[fragment.index] else { return nil }
        partials[index].has[fragment.index] = true
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
            throw WireError(.oversized, "a frame of \(fragment.totalBytes) bytes exceeds the room of \(bytesMax)")
        }
        while partials.count >= framesMax || heldBytes + fragment.totalBytes > bytesMax { abandonOldest() }
        partials.append(
            Partial(
                message: fragment.message, began: now, pieceBytes: fragment.pieceBytes,
                bytes: [UInt8](repeating: 0, count: fragment.totalBytes),
                has: [Bool](repeating: false, count: fragment.count), missing: fragment.count))
        return partials.count - 1
    }

    private mutating func abandonOldest() {
        partials.removeFirst()
        abandonedCount &+= 1
    }
}
