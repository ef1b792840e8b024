/// What has passed over one pipe so far. Counters only grow.
public struct PipeStatistics: Hashable, Sendable {
    /// Frames, the greeting and the farewell among them.
    public internal(set) var framesSent: UInt64 = 0
    public internal(set) var framesReceived: UInt64 = 0
    /// Payload bytes of envelopes and snapshots as their codec wrote them, before framing and compression.
    public internal(set) var bytesRawSent: UInt64 = 0
    public internal(set) var bytesRawReceived: UInt64 = 0
    /// Bytes handed to and taken from the system.
    public internal(set) var bytesOnWireSent: UInt64 = 0
    public internal(set) var bytesOnWireReceived: UInt64 = 0
    /// System calls that moved them; fewer than frames when writes are coalesced.
    public internal(set) var writeCount: UInt64 = 0
    public internal(set) var readCount: UInt64 = 0

    public init() {}
}
