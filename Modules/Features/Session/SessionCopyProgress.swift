/// The progress of a copy of the session that takes more than one message.
public struct SessionCopyProgress: Hashable, Sendable {
    /// The number of bytes that have arrived.
    public var receivedBytes: Int
    /// The number of bytes of the complete copy.
    public var totalBytes: Int

    /// The received share of the copy, from 0 to 1.
    public var fraction: Double { totalBytes == 0 ? 1 : Double(receivedBytes) / Double(totalBytes) }
}
