/// The kind of the value that follows, in every place where `compact` writes one. See
/// Docs/Internals/WireFormat.md.
@frozen
public struct WireKind: RawRepresentable, Hashable, Sendable {
    public let rawValue: UInt8

    @inlinable @inline(__always)
    public init(rawValue: UInt8) { self.rawValue = rawValue }
}

/// Kinds 0–6 share a byte with a small field number; 7 in that place says that a byte with a larger kind follows.
extension WireKind {
    /// The kind of a signed integer, in zigzag-folded LEB128.
    @inlinable public static var int: WireKind { WireKind(rawValue: 0) }
    /// Eight bytes, IEEE 754.
    @inlinable public static var double: WireKind { WireKind(rawValue: 1) }
    /// The kind of a string: its length, then UTF-8.
    @inlinable public static var string: WireKind { WireKind(rawValue: 2) }
    /// The kind of a UUID, in sixteen bytes.
    @inlinable public static var uuid: WireKind { WireKind(rawValue: 3) }
    /// Fields by ascending number.
    @inlinable public static var record: WireKind { WireKind(rawValue: 4) }
    /// The kind of a record whose fields have names.
    @inlinable public static var namedRecord: WireKind { WireKind(rawValue: 5) }
    /// A count and values, each with its kind.
    @inlinable public static var list: WireKind { WireKind(rawValue: 6) }
    @inlinable static var extended: WireKind { WireKind(rawValue: 7) }

    /// No value; nothing follows.
    @inlinable public static var `nil`: WireKind { WireKind(rawValue: 8) }
    /// The kind of the value false. No bytes follow.
    @inlinable public static var `false`: WireKind { WireKind(rawValue: 9) }
    /// The kind of the value true. No bytes follow.
    @inlinable public static var `true`: WireKind { WireKind(rawValue: 10) }
    /// Four bytes, IEEE 754.
    @inlinable public static var float: WireKind { WireKind(rawValue: 11) }
    /// The kind of a byte string: its length, then the bytes.
    @inlinable public static var bytes: WireKind { WireKind(rawValue: 12) }
    /// LEB128, for what exceeds a signed 64-bit integer.
    @inlinable public static var uint: WireKind { WireKind(rawValue: 13) }
    /// Sixteen bytes, two's complement.
    @inlinable public static var int128: WireKind { WireKind(rawValue: 14) }
    /// The kind of an unsigned integer of 128 bits, in sixteen bytes.
    @inlinable public static var uint128: WireKind { WireKind(rawValue: 15) }
    /// The number of a string that this message has written before.
    @inlinable public static var repeatedString: WireKind { WireKind(rawValue: 16) }
    /// A value follows that is there although it reads as nil: `.some(nil)`.
    @inlinable public static var some: WireKind { WireKind(rawValue: 17) }
    /// Says that a named field is not there, so that a reader need not look for it further on.
    @inlinable public static var absent: WireKind { WireKind(rawValue: 18) }
    /// The names of the message, in front of its value; a kind in no other place.
    @inlinable static var names: WireKind { WireKind(rawValue: 19) }

    /// Blocks: a count and that many numbers of one width, without kinds.
    @inlinable public static var doubles: WireKind { WireKind(rawValue: 24) }
    /// Four bytes each, IEEE 754.
    @inlinable public static var floats: WireKind { WireKind(rawValue: 25) }
    /// One byte each, two's complement.
    @inlinable public static var int8s: WireKind { WireKind(rawValue: 26) }
    /// Two bytes each, two's complement.
    @inlinable public static var int16s: WireKind { WireKind(rawValue: 27) }
    /// The kind of a list of 16-bit integers, in two bytes each.
    @inlinable public static var uint16s: WireKind { WireKind(rawValue: 28) }
    /// Four bytes each, two's complement.
    @inlinable public static var int32s: WireKind { WireKind(rawValue: 29) }
    /// The kind of a list of 32-bit integers, in four bytes each.
    @inlinable public static var uint32s: WireKind { WireKind(rawValue: 30) }
    /// The kind of a list of signed integers, each in zigzag-folded LEB128.
    @inlinable public static var ints: WireKind { WireKind(rawValue: 31) }
    /// The kind of a list of unsigned integers, each in LEB128.
    @inlinable public static var uints: WireKind { WireKind(rawValue: 32) }
    /// The kind of a list of UUIDs, in sixteen bytes each.
    @inlinable public static var uuids: WireKind { WireKind(rawValue: 33) }
}

extension WireKind: CustomStringConvertible {
    public var description: String {
        let names: [UInt8: String] = [
            0: "integer", 1: "double", 2: "string", 3: "UUID", 4: "record", 5: "named record", 6: "list", 8: "nil",
            9: "false", 10: "true", 11: "float", 12: "bytes", 13: "unsigned integer", 14: "128-bit integer",
            15: "unsigned 128-bit integer", 16: "repeated string", 17: "some", 18: "absent", 19: "names",
            24: "doubles", 25: "floats", 26: "8-bit integers", 27: "16-bit integers", 28: "unsigned 16-bit integers",
            29: "32-bit integers", 30: "unsigned 32-bit integers", 31: "integers", 32: "unsigned integers", 33: "UUIDs",
        ]
        return names[rawValue] ?? "kind \(rawValue)"
    }
}

/// The place of a value that is being written: a numbered field, or one where its kind comes first, as in a list or at
/// the top.
@frozen
public struct WireHead: Sendable {
    @usableFromInline let field: UInt32

    @inlinable @inline(__always)
    init(field: UInt32) { self.field = field }

    /// An element of a list, or the whole message.
    @inlinable public static var element: WireHead { WireHead(field: 0) }
}

/// The bounds of the format.
enum CompactLimit {
    /// Levels of records and lists.
    static let depth = 32
    /// Field numbers are 1 to this.
    static let field = 1 << 28
    /// Names, and strings, that a message numbers; further ones are written out.
    static let texts = 4096
    /// Shorter strings are not worth a number.
    static let repeatedStringBytesMin = 3
}
