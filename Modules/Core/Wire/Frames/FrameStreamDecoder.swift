import MeshIdentity

/// Reads the frames of one connection from a byte stream that arrives in parts of any size.
///
/// ```swift
/// decoder.append(bytes)
/// while let message = try decoder.next() { … }
/// ```
///
/// A frame may also arrive in pieces (`FrameFragmenter`), with pieces of other frames and complete frames between them.
/// The decoder reads it once it is complete. Such a frame must not depend on earlier ones.
///
/// The decoder buffers appended bytes until it has read them. After `next` returns nil, less than one frame remains.
/// The buffer grows with the bytes that arrive, never with the length in a header. In addition, the decoder holds at
/// most 8 incomplete frames, with a total of at most 2 MiB or `FrameLimits.frameBytes`, whichever is larger. It
/// allocates a frame's memory when the first piece arrives. A piece that would exceed these limits is an `oversized`
/// error.
///
/// An error ends the stream: every later `next` throws the same error, and the decoder discards appended bytes. It
/// doesn't search for another frame, because it can't tell where one begins.
public struct FrameStreamDecoder: ~Copyable, @unchecked Sendable {
    // Sendable although it holds memory and an object that aren't: nothing else refers to them.
    private var buffer: ByteQueue
    private var bodies: BodyDecoder
    private let limits: FrameLimits
    private var reassembler: FrameReassembler
    /// Reads frames that arrived in pieces. Created when the first one is complete.
    private var reassembledDecoder: FrameDecoder?
    private let dictionaries: [CompressionDictionary]
    private let formats: [any CompressionFormat]
    /// The header of the next frame, stored so that it is parsed only once.
    private var nextHeader: FrameHeader?
    /// The error that ended the stream; nil while it can be read.
    public private(set) var failure: WireError?
    /// Number of skipped frames: this version doesn't know their kind, and their flags allow skipping.
    public private(set) var skippedCount: UInt64 = 0

    /// Creates a decoder for the frames of one connection.
    ///
    /// - Parameters:
    ///   - dictionaries: Dictionaries in addition to the built-in one.
    ///   - formats: Compression formats in addition to deflate.
    public init(
        codecs: CodecTable, dictionaries: [CompressionDictionary] = [], formats: [any CompressionFormat] = [],
        limits: FrameLimits = FrameLimits()
    ) {
        self.limits = limits
        self.dictionaries = dictionaries
        self.formats = formats
        buffer = ByteQueue()
        reassembler = FrameReassembler(bytesMax: max(2 << 20, limits.frameBytes), limits: limits)
        bodies = BodyDecoder(
            codecs: codecs, dictionaries: dictionaries, formats: formats, limits: limits,
            internedIdentities: InterningTable.capacityMax)
    }

    /// Copies the next bytes of the stream into the buffer.
    public mutating func append(_ bytes: UnsafeRawBufferPointer) {
        guard failure == nil else { return }
        buffer.append(bytes)
    }

    /// Copies the next bytes of the stream into the buffer.
    public mutating func append(_ bytes: [UInt8]) {
        bytes.withUnsafeBytes { append($0) }
    }

    /// Returns the next message; nil if more bytes are needed.
    ///
    /// - Throws: `WireError` if a frame is invalid or this reader doesn't support it. The error ends the stream.
    public mutating func next() throws(WireError) -> WireMessage? {
        try nextFrame()?.message
    }

    /// Returns the next message with its mark; nil if more bytes are needed.
    ///
    /// - Throws: `WireError` if a frame is invalid or this reader doesn't support it. The error ends the stream.
    public mutating func nextFrame() throws(WireError) -> WireFrame? {
        if let failure { throw failure }
        do throws(WireError) {
            while let header = try parseNextHeader(), buffer.count >= header.frameBytes {
                if let frame = try readFrame(header) { return frame }
            }
            return nil
        } catch {
            throw fail(with: error)
        }
    }

    /// True if no frame is incomplete. Only then can the stream end without loss.
    public var isAtFrameBoundary: Bool { buffer.count == 0 && reassembler.heldBytes == 0 }

    /// Reads the next frame. Returns nil if it is skipped, or is a piece of an incomplete frame.
    private mutating func readFrame(_ header: FrameHeader) throws(WireError) -> WireFrame? {
        let bytes = UnsafeRawBufferPointer(rebasing: buffer.bytes[..<header.frameBytes])
        try header.verifyChecksum(bytes)
        if header.kind == .fragment { return try readPiece(header, bytes) }
        let frame = try bodies.decode(header, bytes)
        takeFrame(header)
        if frame == nil { skippedCount &+= 1 }
        return frame
    }

    private mutating func readPiece(
        _ header: FrameHeader, _ bytes: UnsafeRawBufferPointer
    ) throws(WireError) -> WireFrame? {
        let complete = try reassembler.receiveFragment(header, bytes, now: .zero)
        // A stream must not lose data. So if the reassembler has dropped an incomplete frame, that is an error.
        guard reassembler.droppedCount == 0 else {
            throw WireError(.oversized, "the stream has too many incomplete frames at a time")
        }
        takeFrame(header)
        guard let complete else { return nil }
        if reassembledDecoder == nil {
            reassembledDecoder = FrameDecoder(
                codecs: bodies.codecs, dictionaries: dictionaries, formats: formats, limits: limits)
        }
        let frame = try reassembledDecoder?.decodeFrame(complete)
        if frame == nil { skippedCount &+= 1 }
        return frame
    }

    private mutating func takeFrame(_ header: FrameHeader) {
        buffer.remove(header.frameBytes)
        nextHeader = nil
    }

    private mutating func parseNextHeader() throws(WireError) -> FrameHeader? {
        if nextHeader == nil { nextHeader = try FrameHeader.parse(buffer.bytes, limits: limits) }
        return nextHeader
    }

    private mutating func fail(with error: WireError) -> WireError {
        failure = error
        buffer = ByteQueue()
        reassembler = FrameReassembler()
        return error
    }
}

/// A byte queue in one block of memory.
///
/// Not private: Swift 6.3 emits a broken reference to it if another module destroys a decoder in a release build.
struct ByteQueue: ~Copyable {
    private var base: UnsafeMutableRawPointer?
    private var capacity = 0
    private var start = 0
    private(set) var count = 0

    init() {}

    deinit { base?.deallocate() }

    var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: base.map { $0 + start }, count: count) }

    mutating func append(_ more: UnsafeRawBufferPointer) {
        guard let source = more.baseAddress, more.count > 0 else { return }
        if capacity - start - count < more.count { reserve(more.count) }
        base?.advanced(by: start + count).copyMemory(from: source, byteCount: more.count)
        count += more.count
    }

    mutating func remove(_ removed: Int) {
        count -= removed
        start = count == 0 ? 0 : start + removed
        if count == 0, capacity > Self.keptBytes {
            base?.deallocate()
            base = nil
            capacity = 0
        }
    }

    /// Maximum capacity in bytes that is kept when the queue is empty.
    private static let keptBytes = 1 << 18

    /// Moves the bytes to the front if all fit into half of the memory, otherwise into larger memory. On average, each
    /// byte moves a bounded number of times.
    private mutating func reserve(_ more: Int) {
        let needed = count + more
        if needed <= capacity / 2, let base {
            base.copyMemory(from: base + start, byteCount: count)
        } else {
            let larger = max(needed * 2, 4096)
            let memory = UnsafeMutableRawPointer.allocate(byteCount: larger, alignment: 16)
            if let base {
                memory.copyMemory(from: base + start, byteCount: count)
                base.deallocate()
            }
            base = memory
            capacity = larger
        }
        start = 0
    }
}
