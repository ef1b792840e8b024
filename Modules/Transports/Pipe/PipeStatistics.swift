/// What has passed over one link so far. Counters only grow.
public struct PipeStatistics: Hashable, Sendable {
    /// Bytes handed to and taken from the system.
    public internal(set) var bytesSent: UInt64 = 0
    public internal(set) var bytesReceived: UInt64 = 0
    /// System calls that moved them; fewer than packets when writes are coalesced.
    public internal(set) var writeCount: UInt64 = 0
    public internal(set) var readCount: UInt64 = 0

    /// Frames, the greeting and the farewell among them.
    public internal(set) var framesSent: UInt64 = 0
    public internal(set) var framesReceived: UInt64 = 0
    /// Payload bytes of envelopes and snapshots as their codec wrote them, before framing and compression.
    public internal(set) var bytesRawSent: UInt64 = 0
    public internal(set) var bytesRawReceived: UInt64 = 0

    public init() {}
}
