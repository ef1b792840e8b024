/// What a lossy lane to one peer is trusted with: how much may be under way, and how much longer than usual unanswered.
///
/// What only time has found to be lost may just be waiting on a slow link: the next try waits twice as long, and half as much
/// is under way with it. Losses that are found by what overtook them change nothing: a radio loses packets without being full.
///
/// Source: RFC 5681 (slow start, congestion avoidance) RFC 7661, and RFC 6298, 5.4 to 5.7.
struct LossyWindow: Sendable {
    static let bytesMax = 256 << 10
    static let bytesAtFirst = 16 << 10
    static let bytesMin = 2 << 10
    private static let datagram = 1200

    private(set) var bytes = Self.bytesAtFirst
    /// Below it what arrives makes room for as much again; above it, a round trip for one datagram more.
    private var threshold = Self.bytesMax
    /// Times in a row that time has found a loss.
    private(set) var overdueCount = 0

    mutating func overdue() {
        overdueCount += 1
        bytes = max(bytes / 2, Self.bytesMin)
        threshold = bytes
    }

    /// - Parameter underWay: how much was, with what has arrived now. What was not nearly used up says nothing of the link (RFC 7661).
    mutating func acknowledged(byteCount: Int, underWay: Int) {
        guard underWay >= bytes / 2 else { return }
        bytes += bytes < threshold ? byteCount : byteCount * Self.datagram / bytes
        bytes = min(bytes, Self.bytesMax)
    }

    /// A round trip was measured, or all has arrived.
    mutating func recovered() { overdueCount = 0 }
}
