/// How much of a copy of the session has come, where it takes more than one message.
public struct SessionCopyProgress: Hashable, Sendable {
    /// Bytes that have come.
    public var receivedBytes: Int
    /// Bytes of the whole copy.
    public var totalBytes: Int

    /// From 0 to 1.
    public var fraction: Double { totalBytes == 0 ? 1 : Double(receivedBytes) / Double(totalBytes) }
}
