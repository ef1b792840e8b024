// A frame is a header, a body and a checksum (`FrameChecksum`). The header consists of magic, version, kind, codec,
// flags, the length of the body as a varint, and a check byte. To compute the check byte, start with 0. For each byte
// before it, rotate the result left by one bit, then XOR the byte. It detects every change of one byte, so a reader
// rejects a damaged length before it waits for that many bytes. Docs/Internals/WireFormat.md, "Frame".

/// The kind of a frame's message. This library uses 1–63. 64–127 are for public extensions, 128–255 for private use.
struct FrameKind: Hashable, RawRepresentable {
    let rawValue: UInt8

    static let hello = FrameKind(rawValue: 1)
    static let envelope = FrameKind(rawValue: 2)
    static let snapshot = FrameKind(rawValue: 3)
    static let snapshotRequest = FrameKind(rawValue: 4)
    static let goodbye = FrameKind(rawValue: 5)
    static let fragment = FrameKind(rawValue: 6)
    static let report = FrameKind(rawValue: 7)
}

struct FrameFlags: OptionSet {
    let rawValue: UInt8

    /// Compression of the body, in the two lowest bits.
    var compression: UInt8 { rawValue & 3 }

    static let compressed = FrameFlags(rawValue: 1)
    static let compressedWithDictionary = FrameFlags(rawValue: 2)
    /// Reserved. Early versions used it for one zlib stream per connection, with bit 2 in the frame that began the stream.
    static let reservedCompression = FrameFlags(rawValue: 3)
    /// A reader that doesn't know the kind skips the frame instead of failing.
    static let skippable = FrameFlags(rawValue: 1 << 3)

    /// A list of names comes before the payload. Both ends of the connection remember names by number.
    static let names = FrameFlags(rawValue: 1 << 4)

    /// A mark comes before the body of an envelope or a snapshot.
    static let marked = FrameFlags(rawValue: 1 << 5)

    /// The number of a compression format comes first in a compressed body. Without this flag the format is deflate.
    static let format = FrameFlags(rawValue: 1 << 6)

    static let all = FrameFlags(rawValue: 0b111_1111)
}

/// The first bytes of a frame, up to its check byte.
struct FrameHeader {
    var kind: FrameKind
    /// The payload codec's number; 0 if the body has no payload.
    var codec: UInt8
    var flags: FrameFlags
    var bodyBytes: Int
    /// Number of bytes in this header.
    var headerBytes: Int

    /// The first byte of each frame. No UTF-8 text begins with it.
    static let magic: UInt8 = 0xB5
    static let version: UInt8 = 1
    /// Number of bytes in a header without the length.
    static let fixedBytes = 6
    static let checksumBytes = 4

    /// Number of bytes in the complete frame.
    var frameBytes: Int { headerBytes + bodyBytes + Self.checksumBytes }
}

// MARK: - Reading

extension FrameHeader {
    /// Reads the header at the start of `bytes`. Returns nil if it isn't complete yet.
    ///
    /// - Throws: `foreign`, `unsupportedVersion`, `corrupted` or `oversized`, as soon as the available bytes show the error.
    static func parse(_ bytes: UnsafeRawBufferPointer, limits: FrameLimits) throws(WireError) -> FrameHeader? {
        guard bytes.count > 0 else { return nil }
        guard bytes[0] == magic else { throw WireError(.foreign, "a frame begins with \(magic), not with \(bytes[0])") }
        guard bytes.count > 1 else { return nil }
        guard bytes[1] == version else {
            throw WireError(.unsupportedVersion, "frame version \(bytes[1]); this reader knows version \(version)")
        }
        guard let (length, offset) = try parseLength(bytes), offset < bytes.count else { return nil }
        guard bytes[offset] == check(bytes, count: offset) else {
            throw WireError(.corrupted, "the header does not match its check byte")
        }
        guard length <= UInt64(max(limits.frameBytes - offset - 1 - checksumBytes, 0)) else {
            throw WireError(.oversized, "a frame with \(length) bytes exceeds the limit of \(limits.frameBytes)")
        }
        let flags = FrameFlags(rawValue: bytes[4])
        guard FrameFlags.all.isSuperset(of: flags) else {
            throw WireError(
                .unsupportedVersion, "the frame has flags \(bytes[4]), but this reader knows only those in 127")
        }
        return FrameHeader(
            kind: FrameKind(rawValue: bytes[2]), codec: bytes[3], flags: flags, bodyBytes: Int(length),
            headerBytes: offset + 1)
    }

    /// Reads the length of the body. Returns nil if its varint isn't complete yet.
    @inline(__always)
    private static func parseLength(_ bytes: UnsafeRawBufferPointer) throws(WireError) -> (UInt64, end: Int)? {
        var length: UInt64 = 0
        var shift: UInt64 = 0
        var offset = 5
        while offset < bytes.count {
            let byte = bytes[offset]
            if shift == 63, byte > 1 { throw WireError(.corrupted, "the length of a frame exceeds 64 bits") }
            length |= UInt64(byte & 0x7F) << shift
            offset += 1
            if byte < 0x80 { return (length, offset) }
            shift += 7
        }
        return nil
    }

    @inline(__always)
    static func check(_ bytes: UnsafeRawBufferPointer, count: Int) -> UInt8 {
        var check: UInt8 = 0
        for index in 0..<count { check = Self.check(check, bytes[index]) }
        return check
    }

    /// Adds a byte to a check byte.
    @inline(__always)
    static func check(_ check: UInt8, _ byte: UInt8) -> UInt8 { (check << 1 | check >> 7) ^ byte }
}

// MARK: - Writing

/// The start of an unfinished frame, and the number of bytes reserved for its header.
struct OpenFrame {
    let start: Int
    let headerBytes: Int
}

extension WireWriter {
    /// Reserves the header of a body whose length takes `lengthBytes` bytes as a varint.
    mutating func openFrame(lengthBytes: Int = 1) -> OpenFrame {
        reserve(128)
        let frame = OpenFrame(start: position, headerBytes: FrameHeader.fixedBytes + lengthBytes)
        position &+= frame.headerBytes
        return frame
    }

    /// Fills in the header. Moves the body if the length takes more or fewer bytes than were reserved.
    mutating func writeHeader(
        of frame: OpenFrame, kind: FrameKind, codec: UInt8, flags: FrameFlags, bodyBytes: Int
    ) -> OpenFrame {
        let lengthBytes = FrameHeader.lengthBytes(bodyBytes)
        let written = OpenFrame(start: frame.start, headerBytes: FrameHeader.fixedBytes + lengthBytes)
        let distance = written.headerBytes - frame.headerBytes
        if distance != 0 {
            reserve(max(distance, 0))
            let body = base + frame.start + frame.headerBytes
            (body + distance).copyMemory(from: body, byteCount: position - frame.start - frame.headerBytes)
            position += distance
        }
        var header = HeaderBytes(at: base + frame.start)
        header.append(FrameHeader.magic)
        header.append(FrameHeader.version)
        header.append(kind.rawValue)
        header.append(codec)
        header.append(flags.rawValue)
        var rest = bodyBytes
        while rest >= 0x80 {
            header.append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        header.append(UInt8(truncatingIfNeeded: rest))
        header.append(header.check)
        return written
    }
}

extension FrameHeader {
    /// Returns the number of bytes that a body's length takes as a varint.
    static func lengthBytes(_ bodyBytes: Int) -> Int {
        bodyBytes < 0x80 ? 1 : (70 - bodyBytes.leadingZeroBitCount) / 7
    }
}

/// Writes a header and computes its check byte.
private struct HeaderBytes {
    private var cursor: UnsafeMutableRawPointer
    private(set) var check: UInt8 = 0

    init(at start: UnsafeMutableRawPointer) { cursor = start }

    @inline(__always)
    mutating func append(_ byte: UInt8) {
        cursor.storeBytes(of: byte, as: UInt8.self)
        cursor += 1
        check = FrameHeader.check(check, byte)
    }
}
