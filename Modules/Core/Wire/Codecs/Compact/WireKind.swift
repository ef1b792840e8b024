/// The kind of a value in the `compact` format: the byte that comes before its content. See Docs/Internals/WireFormat.md.
@frozen
public struct WireKind: RawRepresentable, Hashable, Sendable {
    public let rawValue: UInt8

    @inlinable @inline(__always)
    public init(rawValue: UInt8) { self.rawValue = rawValue }
}

/// Kinds 0–6 fit into a field's head, next to its number. A 7 there announces that a byte with a larger kind follows.
extension WireKind {
    /// A signed integer, as zigzag-folded LEB128.
    @inlinable public static var int: WireKind { WireKind(rawValue: 0) }
    /// A floating-point number: eight bytes, IEEE 754.
    @inlinable public static var double: WireKind { WireKind(rawValue: 1) }
    /// A string: its length, then UTF-8.
    @inlinable public static var string: WireKind { WireKind(rawValue: 2) }
    /// A UUID: sixteen bytes.
    @inlinable public static var uuid: WireKind { WireKind(rawValue: 3) }
    /// A record whose fields have ascending numbers.
    @inlinable public static var record: WireKind { WireKind(rawValue: 4) }
    /// A record whose fields have names.
    @inlinable public static var namedRecord: WireKind { WireKind(rawValue: 5) }
    /// A list: a count, then values, each with its kind.
    @inlinable public static var list: WireKind { WireKind(rawValue: 6) }
    @inlinable static var extended: WireKind { WireKind(rawValue: 7) }

    /// The value nil, which has no content.
    @inlinable public static var `nil`: WireKind { WireKind(rawValue: 8) }
    /// The value false, without content.
    @inlinable public static var `false`: WireKind { WireKind(rawValue: 9) }
    /// The value true, without content.
    @inlinable public static var `true`: WireKind { WireKind(rawValue: 10) }
    /// A floating-point number: four bytes, IEEE 754.
    @inlinable public static var float: WireKind { WireKind(rawValue: 11) }
    /// Bytes: a length, then the bytes.
    @inlinable public static var bytes: WireKind { WireKind(rawValue: 12) }
    /// An unsigned integer larger than `Int64.max`, as LEB128.
    @inlinable public static var uint: WireKind { WireKind(rawValue: 13) }
    /// A signed integer: sixteen bytes, two's complement.
    @inlinable public static var int128: WireKind { WireKind(rawValue: 14) }
    /// An unsigned integer: sixteen bytes.
    @inlinable public static var uint128: WireKind { WireKind(rawValue: 15) }
    /// A reference to an earlier string of this message, by its number.
    @inlinable public static var repeatedString: WireKind { WireKind(rawValue: 16) }
    /// A mark for a present value that would otherwise read as nil, such as `.some(nil)`. The value follows.
    @inlinable public static var some: WireKind { WireKind(rawValue: 17) }
    /// Marks a named field as missing, so that a reader need not search for it.
    @inlinable public static var absent: WireKind { WireKind(rawValue: 18) }
    /// The names of the message. Appears only in front of its value.
    @inlinable static var names: WireKind { WireKind(rawValue: 19) }

    /// A block of doubles: a count, then eight bytes each. A block has numbers of one width, without kinds.
    @inlinable public static var doubles: WireKind { WireKind(rawValue: 24) }
    /// A block of floats: four bytes each, IEEE 754.
    @inlinable public static var floats: WireKind { WireKind(rawValue: 25) }
    /// A block of signed integers: one byte each, two's complement.
    @inlinable public static var int8s: WireKind { WireKind(rawValue: 26) }
    /// A block of signed integers: two bytes each, two's complement.
    @inlinable public static var int16s: WireKind { WireKind(rawValue: 27) }
    /// A block of unsigned integers: two bytes each.
    @inlinable public static var uint16s: WireKind { WireKind(rawValue: 28) }
    /// A block of signed integers: four bytes each, two's complement.
    @inlinable public static var int32s: WireKind { WireKind(rawValue: 29) }
    /// A block of unsigned integers: four bytes each.
    @inlinable public static var uint32s: WireKind { WireKind(rawValue: 30) }
    /// A block of signed integers, each in zigzag-folded LEB128.
    @inlinable public static var ints: WireKind { WireKind(rawValue: 31) }
    /// A block of unsigned integers, each in LEB128.
    @inlinable public static var uints: WireKind { WireKind(rawValue: 32) }
    /// A block of UUIDs: sixteen bytes each.
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

/// The place of a value that is being written. A field's head contains the field's number and the kind. The head of a
/// list element, or of the message's value, is only the kind.
@frozen
public struct WireHead: Sendable {
    @usableFromInline let field: UInt32

    @inlinable @inline(__always)
    init(field: UInt32) { self.field = field }

    /// An element of a list, or the message's value.
    @inlinable public static var element: WireHead { WireHead(field: 0) }
}

/// The bounds of the format.
enum CompactLimit {
    /// Maximum number of nested records and lists, by default.
    static let depth = 32
    /// Maximum field number; the minimum is 1.
    static let field = 1 << 28
    /// Maximum number of names that a message numbers, and of strings. Further ones are written out each time.
    static let texts = 4096
    /// Minimum number of bytes in a numbered string.
    static let repeatedStringBytesMin = 3
}
