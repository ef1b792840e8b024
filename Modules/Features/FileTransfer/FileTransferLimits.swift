/// The bounds of received files. Beyond them a peer's offer is refused with `insufficientSpace`.
public struct FileTransferLimits: Hashable, Sendable {
    /// Files that are coming or wait for the app.
    package var inboxCountMax = 64
    /// Maximum number of bytes of received files.
    public var inboxBytesMax: UInt64 = 8 << 30
    /// Bytes that a file must leave free on the disk.
    package var freeBytesMin: UInt64 = 16 << 20
    /// How long the beginning of a file is kept whose sender is not heard of, looked at when the app is launched.
    let partialAgeMax: Duration = .seconds(30 * 86_400)
    /// Files that come at the same time, in the order of their offers; the next ones wait, but for no sender that is silent.
    package var receivingMax = 4
    /// Transfers of one's own that have not completed; `transferFile` throws `deliveryFailed` beyond it.
    package var outstandingMax = 256

    /// Creates limits with the default of every value.
    public init() {}
}
