/// The bounds of file transfers. An offer beyond the inbox's bounds is refused with `insufficientSpace`.
public struct FileTransferLimits: Hashable, Sendable {
    /// Maximum number of files that are arriving or wait for the app.
    package var inboxCountMax = 64
    /// Maximum number of bytes of received files.
    public var inboxBytesMax: UInt64 = 8 << 30
    /// Number of bytes that must stay free on the disk after a file has arrived.
    package var freeBytesMin: UInt64 = 16 << 20
    /// Age at which a launch discards a partial file, counted from the last write to it.
    let partialAgeMax: Duration = .seconds(30 * 86_400)
    /// Maximum number of files received at the same time. Others wait in the order of their offers. A waiting file replaces
    /// one whose sender is silent.
    package var receivingMax = 4
    /// Maximum number of outgoing transfers that haven't completed. Beyond it `transferFile` throws `deliveryFailed`.
    package var outstandingMax = 256

    /// Creates limits with the default of every value.
    public init() {}
}
