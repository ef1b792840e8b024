/// What a value begins with (RFC 8949, section 3): its major type and a number, which says what it is worth, how long it
/// is, or how many values it holds.
struct CBORHead {
    enum Major: UInt8 {
        case unsigned, negative, bytes, text, list, map, tag, simple
    }

    let major: Major
    /// The low five bits of the first byte.
    let info: UInt8
    let argument: UInt64

    /// Strings, lists and maps that end with a break; a simple value that is this break.
    @inline(__always)
    var isIndefinite: Bool { info == 31 }

    @inline(__always)
    var isNil: Bool { major == .simple && (info == Simple.null || info == Simple.undefined) }

    enum Simple {
        static let no: UInt8 = 20
        static let yes: UInt8 = 21
        static let null: UInt8 = 22
        static let undefined: UInt8 = 23
        static let half: UInt8 = 25
        static let single: UInt8 = 26
        static let double: UInt8 = 27
    }

    enum Tag {
        static let epochTime: UInt64 = 1
        static let bignum: UInt64 = 2
        static let negativeBignum: UInt64 = 3
        static let decimal: UInt64 = 4
        static let link: UInt64 = 32
        static let uuid: UInt64 = 37
    }
}

// MARK: - Writing

extension WireWriter {
    /// The most bytes of a head.
    static var headBytesMax: Int { 9 }

    /// Writes the number in its shortest form.
    @inline(__always)
    mutating func writeHead(_ major: CBORHead.Major, _ argument: UInt64) {
        reserve(Self.headBytesMax)
        let type = major.rawValue << 5
        if _fastPath(argument < 24) {
            append(type | UInt8(truncatingIfNeeded: argument))
        } else if argument <= 0xff {
            append(type | 24)
            append(UInt8(truncatingIfNeeded: argument))
        } else {
            appendLongHead(type, argument)
        }
    }

    private mutating func appendLongHead(_ type: UInt8, _ argument: UInt64) {
        if argument <= 0xffff {
            append(type | 25)
            append(UInt16(truncatingIfNeeded: argument).bigEndian)
        } else if argument <= 0xffff_ffff {
            append(type | 26)
            append(UInt32(truncatingIfNeeded: argument).bigEndian)
        } else {
            append(type | 27)
            append(argument.bigEndian)
        }
    }

    @inline(__always)
    mutating func writeSimple(_ value: UInt8) { write(CBORHead.Major.simple.rawValue << 5 | value) }

    @inline(__always)
    mutating func writeText(_ value: String) {
        var value = value
        value.withUTF8 { utf8 in
            writeHead(.text, UInt64(utf8.count))
            writeRaw(UnsafeRawBufferPointer(utf8))
        }
    }

    /// The shortest of the three widths that keeps every bit, those of a NaN included.
    mutating func writeFloat(_ value: Double) {
        guard let single = CBORFloat.single(value.bitPattern) else {
            reserve(Self.headBytesMax)
            append(CBORHead.Major.simple.rawValue << 5 | CBORHead.Simple.double)
            return append(value.bitPattern.bigEndian)
        }
        writeSingle(single)
    }

    mutating func writeSingle(_ bits: UInt32) {
        reserve(Self.headBytesMax)
        let type = CBORHead.Major.simple.rawValue << 5
        if let half = CBORFloat.half(bits) {
            append(type | CBORHead.Simple.half)
            append(half.bigEndian)
        } else {
            append(type | CBORHead.Simple.single)
            append(bits.bigEndian)
        }
    }

    /// An integer of up to 128 bits: a bignum only when 64 bits do not hold it.
    /// - Parameter argument: the number itself, or -1 minus the number when that is negative.
    mutating func writeInteger(isNegative: Bool, argument: (high: UInt64, low: UInt64)) {
        guard argument.high > 0 else { return writeHead(isNegative ? .negative : .unsigned, argument.low) }
        writeHead(.tag, isNegative ? CBORHead.Tag.negativeBignum : CBORHead.Tag.bignum)
        let zeros = argument.high.leadingZeroBitCount / 8
        writeHead(.bytes, UInt64(16 - zeros))
        reserve(16)
        for byte in zeros..<8 { append(UInt8(truncatingIfNeeded: argument.high >> UInt64(56 - 8 * byte))) }
        append(argument.low.bigEndian)
    }
}

// MARK: - Reading

extension WireReader {
    @inline(__always)
    mutating func readHead() throws(WireError) -> CBORHead {
        let first = try readUInt8()
        let major = CBORHead.Major(rawValue: first >> 5) ?? .simple
        let info = first & 0x1f
        if _fastPath(info < 24) { return CBORHead(major: major, info: info, argument: UInt64(info)) }
        return try readLongHead(major, info)
    }

    private mutating func readLongHead(_ major: CBORHead.Major, _ info: UInt8) throws(WireError) -> CBORHead {
        let argument: UInt64 =
            switch info {
            case 24: UInt64(try readUInt8())
            case 25: UInt64(try readUInt16().byteSwapped)
            case 26: UInt64(try readUInt32().byteSwapped)
            case 27: try readUInt64().byteSwapped
            case 31:
                switch major {
                case .unsigned, .negative, .tag: throw WireError(.corrupted, "\(major) has no indefinite form")
                default: 0
                }
            default: throw WireError(.corrupted, "the additional information \(info) is reserved")
            }
        if major == .simple, info == 24, argument < 32 {
            throw WireError(.corrupted, "the simple value \(argument) is not in its one-byte form")
        }
        return CBORHead(major: major, info: info, argument: argument)
    }

    /// The bytes that a head promises, if they are there.
    @inline(__always)
    mutating func readContent(of head: CBORHead) throws(WireError) -> UnsafeRawBufferPointer {
        guard head.argument <= UInt64(remaining) else {
            throw .truncated(needed: Int(clamping: head.argument), remaining: remaining)
        }
        return try readRaw(Int(truncatingIfNeeded: head.argument))
    }
}
