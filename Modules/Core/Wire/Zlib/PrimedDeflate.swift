internal import CZlib

/// zlib's state after it has read a dictionary. A small body starts from a copy, so the dictionary is hashed only once.
///
/// Owns at most 310 KB, half of it for the copy. Don't use it from several threads at once.
final class PrimedDeflate {
    /// Maximum number of bytes of a small body. It fits into one block of zlib's smaller buffers, which copy faster.
    static let bodyBytesMax = 2048

    /// Sizes zlib's hash table and symbol buffer: 4,096 and 2,048 entries.
    private static let memoryLevel: Int32 = 5

    let dictionary: CompressionDictionary
    private let primed: UnsafeMutablePointer<z_stream>
    private let copy: UnsafeMutablePointer<z_stream>
    private let primedMemory = ZlibMemory()
    private let copyMemory = ZlibMemory()

    /// - Throws: `compressionFailed` if zlib has no memory.
    init(_ dictionary: CompressionDictionary, level: Int) throws(WireError) {
        self.dictionary = dictionary
        (primed, copy) = (.allocate(capacity: 1), .allocate(capacity: 1))
        primed.initialize(to: z_stream())
        copy.initialize(to: z_stream())
        primedMemory.lend(to: primed)
        let status = mesh_deflate_init(primed, Int32(level), -Self.windowBits(for: dictionary), Self.memoryLevel)
        guard status == Z_OK else { throw .deflate(status) }
        try ZlibDeflater.set(dictionary, for: primed)
    }

    /// The memory of both streams is freed with `primedMemory` and `copyMemory`.
    deinit {
        for stream in [primed, copy] {
            stream.deinitialize(count: 1)
            stream.deallocate()
        }
    }

    /// Returns the bits of the smallest window from which matches reach all of the dictionary.
    private static func windowBits(for dictionary: CompressionDictionary) -> Int32 {
        // zlib keeps 262 bytes of its window free.
        let byteCount = dictionary.bytes.count + bodyBytesMax + 262
        return (9..<MAX_WBITS).first { 1 << $0 >= byteCount } ?? MAX_WBITS
    }

    /// Returns a stream that has read the dictionary. Valid until the next call.
    func start() throws(WireError) -> UnsafeMutablePointer<z_stream> {
        // `deflateCopy` takes the allocator from the stream that it copies.
        copyMemory.lend(to: primed)
        let status = deflateCopy(copy, primed)
        guard status == Z_OK else { throw .deflate(status) }
        return copy
    }
}

/// Memory for one zlib stream, which a later stream of the same size takes over. Fresh pages would cost more time than the
/// copy of their content.
private final class ZlibMemory {
    private var blocks: [UnsafeMutableRawBufferPointer] = []
    private var usedCount = 0

    deinit { for block in blocks { block.deallocate() } }

    /// Makes a stream allocate from this memory. Streams that did so before can't be used any more.
    func lend(to stream: UnsafeMutablePointer<z_stream>) {
        usedCount = 0
        stream.pointee.opaque = Unmanaged.passUnretained(self).toOpaque()
        stream.pointee.zalloc = { memory, count, size in
            guard let memory else { return nil }
            return Unmanaged<ZlibMemory>.fromOpaque(memory).takeUnretainedValue().take(Int(count) * Int(size))
        }
        stream.pointee.zfree = { _, _ in }
    }

    private func take(_ byteCount: Int) -> UnsafeMutableRawPointer? {
        if usedCount == blocks.count { blocks.append(.allocate(byteCount: byteCount, alignment: 16)) }
        let block = blocks[usedCount]
        guard block.count >= byteCount else { return nil }
        usedCount += 1
        return block.baseAddress
    }
}
