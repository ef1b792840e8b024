// Congestion control for lossy lanes. Sources: RFC 5681 (slow start, congestion avoidance), RFC 7661 (a window that
// isn't used doesn't grow), and RFC 6298, 5.4 to 5.7 (back-off).
//
// A timeout may just mean that the link is slow, so the next try waits twice as long, with half the bytes in flight.
// Losses found by reordering change nothing, because a radio loses packets without being full.
// Docs/Internals/Glossary.md defines the terms.

/// The limits of a lossy lane to one peer: bytes in flight, and the back-off of its timeout.
struct LossyWindow: Sendable {
    static let bytesMax = 256 << 10
    static let initialBytes = 16 << 10
    static let bytesMin = 2 << 10
    private static let datagram = 1200

    private(set) var bytes = Self.initialBytes
    /// The size up to which the window grows by the acknowledged bytes (slow start). Above it, the window grows by
    /// about a datagram per round trip (congestion avoidance).
    private var threshold = Self.bytesMax
    /// Number of timeouts in a row.
    private(set) var timeoutCount = 0

    mutating func noteTimeout() {
        timeoutCount += 1
        bytes = max(bytes / 2, Self.bytesMin)
        threshold = bytes
    }

    /// - Parameter inFlight: bytes that were in flight, including the acknowledged ones. If they filled less than half
    ///   of the window, it doesn't grow (RFC 7661).
    mutating func acknowledged(byteCount: Int, inFlight: Int) {
        guard inFlight >= bytes / 2 else { return }
        bytes += bytes < threshold ? byteCount : byteCount * Self.datagram / bytes
        bytes = min(bytes, Self.bytesMax)
    }

    /// Resets the back-off: a round trip was measured, or everything has arrived.
    mutating func resetBackOff() { timeoutCount = 0 }
}
