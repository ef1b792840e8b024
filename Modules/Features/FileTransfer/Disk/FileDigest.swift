import MeshConnection
import MeshIdentity

/// What tells whether a file is the same: a chain of 128-bit hashes over its blocks of 256 KiB.
///
/// Finds every accident, and nobody who means harm: who may send is the link's business.
enum FileDigest {
    static let blockBytes = 256 << 10

    /// Of a whole file. Complexity: O(bytes) time, one block of memory. Lets others run between blocks.
    /// - Throws: `cancelled`; what reading throws; `deliveryFailed` when it ends before `byteCount`.
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
            guard let next else { throw .deliveryFailed(reason: "the file has become shorter: \(file.path)") }
            chain = StableHash([chain.high, next.low, next.high].flatMap(\.littleEndianBytes))
            offset += UInt64(wanted)
            await Task.yield()
        }
        return chain.description
    }

    /// What goes with each chunk.
    static func checksum(of bytes: some Collection<UInt8>) -> UInt64 {
        bytes.withContiguousStorageIfAvailable { StableHash(UnsafeRawBufferPointer($0)).low }
            ?? StableHash(Array(bytes)).low
    }
}

extension UInt64 {
    fileprivate var littleEndianBytes: [UInt8] { withUnsafeBytes(of: littleEndian) { Array($0) } }
}
