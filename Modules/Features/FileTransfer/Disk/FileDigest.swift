import MeshConnection
import MeshIdentity

// The digest of a file is a hash chain over its blocks of 256 KiB: each step hashes the previous result together with
// the next block, and the last result is the digest. The hash function is MurmurHash3, x64, 128 bits (`StableHash`),
// which isn't cryptographic. Each chunk message carries a 64-bit checksum from the same function.

/// Hashes that detect accidental damage to a file. They don't detect forgery: authenticating the sender is the link's
/// task.
enum FileDigest {
    static let blockBytes = 256 << 10

    /// Returns the digest of a complete file. Yields after each block. Complexity: O(bytes) time, one block of memory.
    /// - Throws: `cancelled`; errors of reading; `deliveryFailed` if the file ends before `byteCount`.
    static func digest(of file: OpenFile, byteCount: UInt64) async throws(ConnectionError) -> String {
        var chain = StableHash([])
        var offset: UInt64 = 0
        var block = [UInt8](repeating: 0, count: Int(min(UInt64(blockBytes), byteCount)))
        while offset < byteCount {
            guard !Task.isCancelled else { throw .cancelled }
            let wanted = Int(min(UInt64(blockBytes), byteCount - offset))
            var failure: ConnectionError?
            let next = block.withUnsafeMutableBytes { buffer -> StableHash? in
                do throws(ConnectionError) {
                    let part = UnsafeMutableRawBufferPointer(rebasing: buffer[..<wanted])
                    guard try file.read(into: part, at: offset) == wanted else { return nil }
                    return StableHash(UnsafeRawBufferPointer(part), seed: chain.low)
                } catch {
                    failure = error
                    return nil
                }
            }
            if let failure { throw failure }
            guard let next else {
                throw .deliveryFailed(reason: "the file has become shorter since its transfer began: \(file.path)")
            }
            chain = StableHash([chain.high, next.low, next.high].flatMap(\.littleEndianBytes))
            offset += UInt64(wanted)
            await Task.yield()
        }
        return chain.description
    }

    /// Returns the checksum that travels with a chunk.
    static func checksum(of bytes: some Collection<UInt8>) -> UInt64 {
        bytes.withContiguousStorageIfAvailable { StableHash(UnsafeRawBufferPointer($0)).low }
            ?? StableHash(Array(bytes)).low
    }
}

extension UInt64 {
    fileprivate var littleEndianBytes: [UInt8] { withUnsafeBytes(of: littleEndian) { Array($0) } }
}
