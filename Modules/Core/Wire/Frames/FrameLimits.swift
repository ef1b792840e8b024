/// The bounds within which frames are made and read. All are checked before memory is spent.
public struct FrameLimits: Hashable, Sendable {
    /// A whole frame, header and checksum included.
    public var frameBytes: Int
    /// A body after inflation.
    public var inflatedBytes: Int
    /// Maximum ratio of a body's size to its compressed size. A reader refuses bodies that inflate further.
    public var inflationRatio: Int
    /// Entries of a snapshot's sequence vector.
    let vectorEntries: Int

    /// 1 MiB a frame, 4 MiB inflated, 20 to 1, 16,384 entries.
    public init(
        frameBytes: Int = 1 << 20, inflatedBytes: Int = 4 << 20, inflationRatio: Int = 20, vectorEntries: Int = 16_384
    ) {
        self.frameBytes = frameBytes
        self.inflatedBytes = inflatedBytes
        self.inflationRatio = inflationRatio
        self.vectorEntries = vectorEntries
    }
}
