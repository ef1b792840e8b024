import MeshIdentity

/// Reads the frames of one connection from a stream of bytes, however it is cut.
///
/// ```swift
/// decoder.append(bytes)
/// while let message = try decoder.next() { … }
/// ```
///
/// Takes frames in pieces (`FrameFragmenter`), several at a time, between others. They are read when they are whole, and
/// must stand alone, as in datagrams.
///
/// Holds what was appended and not yet taken: after `next` has returned nil, less than one frame. It grows with what
/// arrives, never with what a header announces. Beside it at most 8 frames that lack pieces, of together at most 2 MiB
/// (or one of the largest size), whose room is taken at their first piece; more are `oversized`. After an
/// error the stream is dead: every later `next` throws the same error, and what is appended is dropped. It never searches
/// for the next frame in bytes that it does not understand.
public struct FrameStreamDecoder: ~Copyable, @unchecked Sendable {
    // Sendable although it holds memory and a class that are not: both are private to this one owner.
    private var buffer: ByteQueue
    private var bodies: BodyDecoder
    private let limits: FrameLimits
    private var pieces: FrameReassembler
    /// Reads what arrived in pieces; made when the first is whole.
    private var whole: FrameDecoder?
    private let dictionaries: [CompressionDictionary]
    /// The header of the frame that is being waited for, so that it is read once.
    private var awaited: FrameHeader?
    /// Why the stream is dead.
    public private(set) var failure: WireError?
    /// Frames of kinds that this version does not know and may skip.
    public private(set) var skippedCount: UInt64 = 0

    /// Creates a decoder for the frames of one connection.
    ///
    /// - Parameter dictionaries: known beside the built-in one.
    public init(codecs: CodecTable, dictionaries: [CompressionDictionary] = [], limits: FrameLimits = FrameLimits()) {
        self.limits = limits
        self.dictionaries = dictionaries
        buffer = ByteQueue()
        pieces = FrameReassembler(bytesMax: max(2 << 20, limits.frameBytes), limits: limits)
        bodies = BodyDecoder(
            codecs: codecs, dictionaries: dictionaries, limits: limits,
            internedIdentities: InterningTable.capacityMax)
    }

    /// Takes the next bytes of the stream. Copies them once.
    public mutating func append(_ bytes: UnsafeRawBufferPointer) {
        guard failure == nil else { return }
        buffer.append(bytes)
    }

    /// Appends received bytes in an array.
    public mutating func append(_ bytes: [UInt8]) {
        bytes.withUnsafeBytes { append($0) }
    }

    /// The next message; nil when more bytes are needed.
    ///
    /// - Throws: every code of `WireError` that is about reading; then the stream is dead.
    public mutating func next() throws(WireError) -> WireMessage? {
        try nextFrame()?.message
    }

    /// The next message with the mark in front of it; nil when more bytes are needed.
    ///
    /// - Throws: every code of `WireError` that is about reading; then the stream is dead.
    public mutating func nextFrame() throws(WireError) -> WireFrame? {
        if let failure { throw failure }
        do throws(WireError) {
            while let header = try awaitedHeader(), buffer.count >= header.frameBytes {
                if let frame = try readFrame(header) { return frame }
            }
            return nil
        } catch {
            throw failing(with: error)
        }
    }

    /// Whether no part of a frame is waiting for the rest. A stream may end only here.
    public var isAtFrameBoundary: Bool { buffer.count == 0 && pieces.heldBytes == 0 }

    /// Takes the awaited frame; nil when it is skipped, or a piece of one that lacks others.
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
        let complete = try pieces.receiveFragment(header, bytes, now: .zero)
        // On a stream nothing gets lost, so nothing may be given up either.
        guard pieces.abandonedCount == 0 else {
            throw WireError(.oversized, "there is no room for the pieces of so many frames at a time")
        }
        takeFrame(header)
        guard let complete else { return nil }
        if whole == nil { whole = FrameDecoder(codecs: bodies.codecs, dictionaries: dictionaries, limits: limits) }
        let frame = try whole?.decodeFrame(complete)
        if frame == nil { skippedCount &+= 1 }
        return frame
    }

    private mutating func takeFrame(_ header: FrameHeader) {
        buffer.remove(header.frameBytes)
        awaited = nil
    }

    private mutating func awaitedHeader() throws(WireError) -> FrameHeader? {
        if awaited == nil { awaited = try FrameHeader.parse(buffer.bytes, limits: limits) }
        return awaited
    }

    private mutating func failing(with error: WireError) -> WireError {
        failure = error
        buffer = ByteQueue()
        pieces = FrameReassembler()
        return error
    }
}

/// Bytes taken from the front and appended at the back, in one piece of memory.
///
/// Not private: Swift 6.3 emits a broken reference to it where another module destroys a decoder in a release build.
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
        if capacity - start - count < more.count { makeRoom(for: more.count) }
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

    /// A larger buffer is given back once it is empty.
    private static let keptBytes = 1 << 18

    /// Moves what is left to the front, into more memory only when less than half of it is free: so every byte moves a
    /// bounded number of times.
    private mutating func makeRoom(for more: Int) {
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
