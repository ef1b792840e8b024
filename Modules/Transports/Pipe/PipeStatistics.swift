/// The counters of one link. Counters only grow.
public struct PipeStatistics: Hashable, Sendable {
    /// Bytes handed to and taken from the system.
    public internal(set) var bytesSent: UInt64 = 0
    /// The number of bytes received.
    public internal(set) var bytesReceived: UInt64 = 0
    /// System calls that moved them; fewer than packets when writes are coalesced.
    public internal(set) var writeCount: UInt64 = 0
    /// System calls that read them.
    public internal(set) var readCount: UInt64 = 0

    /// Creates counters that are all zero.
    public init() {}
}
