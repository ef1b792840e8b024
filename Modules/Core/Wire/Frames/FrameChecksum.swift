import MeshIdentity

/// The four bytes that end a frame: the lowest 32 bits of MurmurHash3 (x64, 128 bits, seed 0) over all before them.
///
/// Against accidents, not against malice. One in 2^32 random changes passes, as with a CRC-32; in exchange for the CRC's
/// guarantee about short bursts it costs a fraction of zlib's time on small frames, and the hash is here anyway.
enum FrameChecksum {
    static func of(_ bytes: UnsafeRawBufferPointer) -> UInt32 {
        UInt32(truncatingIfNeeded: StableHash(bytes).low)
    }
}
