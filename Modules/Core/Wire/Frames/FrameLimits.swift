/// Limits for writing and reading frames. All are checked before memory is allocated.
public struct FrameLimits: Hashable, Sendable {
    /// Maximum number of bytes in a frame, including header and checksum.
    public var frameBytes: Int
    /// Maximum number of bytes in a body after inflation.
    public var inflatedBytes: Int
    /// Maximum ratio of a body's size to its compressed size. A reader rejects bodies that inflate further.
    public var inflationRatio: Int
    /// Maximum number of entries in a snapshot's sequence vector.
    let vectorEntries: Int

    /// Creates limits for writing and reading frames. The defaults are 1 MiB per frame, 4 MiB inflated, a ratio of 20,
    /// and 16,384 entries.
    public init(
        frameBytes: Int = 1 << 20, inflatedBytes: Int = 4 << 20, inflationRatio: Int = 20, vectorEntries: Int = 16_384
    ) {
        self.frameBytes = frameBytes
        self.inflatedBytes = inflatedBytes
        self.inflationRatio = inflationRatio
        self.vectorEntries = vectorEntries
    }
}
