/// What has passed over one link so far. Counters only grow.
public struct PipeStatistics: Hashable, Sendable {
    /// Bytes handed to and taken from the system.
    public internal(set) var bytesSent: UInt64 = 0
    /// Bytes that came.
    public internal(set) var bytesReceived: UInt64 = 0
    /// System calls that moved them; fewer than packets when writes are coalesced.
    public internal(set) var writeCount: UInt64 = 0
    /// System calls that read them.
    public internal(set) var readCount: UInt64 = 0

    /// Nothing yet.
    public init() {}
}
