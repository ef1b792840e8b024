import MeshIdentity

/// The last four bytes of a frame: the lowest 32 bits of MurmurHash3 (x64, 128 bits, seed 0) over all bytes before them.
///
/// Detects accidents, not attacks. One in 2^32 random changes passes, as with CRC-32. A CRC also detects all short bursts.
/// This hash doesn't, but on small frames it takes a fraction of the time of zlib's CRC, and the library has it anyway.
enum FrameChecksum {
    static func of(_ bytes: UnsafeRawBufferPointer) -> UInt32 {
        UInt32(truncatingIfNeeded: StableHash(bytes).low)
    }
}
