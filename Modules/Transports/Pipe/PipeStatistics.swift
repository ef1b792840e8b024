/// The counters of one link. Counters only grow.
public struct PipeStatistics: Hashable, Sendable {
    /// Number of bytes handed to the system.
    public internal(set) var bytesSent: UInt64 = 0
    /// Number of bytes read from the system.
    public internal(set) var bytesReceived: UInt64 = 0
    /// Number of system calls that wrote bytes. Fewer than packets when writes are combined.
    public internal(set) var writeCount: UInt64 = 0
    /// Number of system calls that read bytes.
    public internal(set) var readCount: UInt64 = 0

    /// Creates counters that are all zero.
    public init() {}
}
