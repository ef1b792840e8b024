// An integer's kind depends on its value, not on its type's width, so that a version of an app can widen a field.

/// An integer type that the direct path can write. The conformances differ only in the kind of an array.
public protocol WireInteger: WireValue, FixedWidthInteger {
    /// The kind of an array of these integers.
    static var wireListKind: WireKind { get }
}

extension WireInteger {
    @inlinable public static var wireKind: WireKind { .int }

    @inlinable @inline(__always)
    public func write(to writer: inout CompactWriter, as head: WireHead) {
        if Self.isSigned {
            writer.write(Int64(truncatingIfNeeded: self), as: head)
        } else {
            writer.write(UInt64(truncatingIfNeeded: self), as: head)
        }
    }

    /// Reads an integer that was written in any width.
    ///
    /// - Throws: `invalidValue` if the integer doesn't fit.
    @inlinable @inline(__always)
    public init(wire kind: WireKind, from reader: inout CompactReader) throws(WireError) {
        self = try reader.readInteger(kind)
    }

    @inlinable
    public static func writeList(_ values: [Self], to writer: inout CompactWriter, as head: WireHead) {
        writer.writeIntegers(values, wireListKind, as: head)
    }

    /// Reads an array of integers that were written in any width.
    ///
    /// - Throws: `invalidValue` if an element doesn't fit.
    @inlinable
    public static func readList(_ kind: WireKind, from reader: inout CompactReader) throws(WireError) -> [Self] {
        if kind == wireListKind { return try reader.readIntegers(kind) }
        return kind == .list ? try reader.readElements() : try reader.readExpanded(kind)
    }
}

extension Int: WireInteger { @inlinable public static var wireListKind: WireKind { .ints } }
extension Int8: WireInteger { @inlinable public static var wireListKind: WireKind { .int8s } }
extension Int16: WireInteger { @inlinable public static var wireListKind: WireKind { .int16s } }
extension Int32: WireInteger { @inlinable public static var wireListKind: WireKind { .int32s } }
extension Int64: WireInteger { @inlinable public static var wireListKind: WireKind { .ints } }
extension UInt: WireInteger { @inlinable public static var wireListKind: WireKind { .uints } }
extension UInt8: WireInteger { @inlinable public static var wireListKind: WireKind { .bytes } }
extension UInt16: WireInteger { @inlinable public static var wireListKind: WireKind { .uint16s } }
extension UInt32: WireInteger { @inlinable public static var wireListKind: WireKind { .uint32s } }
extension UInt64: WireInteger { @inlinable public static var wireListKind: WireKind { .uints } }

extension Int: StandardWireValue {}
extension Int8: StandardWireValue {}
extension Int16: StandardWireValue {}
extension Int32: StandardWireValue {}
extension Int64: StandardWireValue {}
extension UInt: StandardWireValue {}
extension UInt8: StandardWireValue {}
extension UInt16: StandardWireValue {}
extension UInt32: StandardWireValue {}
extension UInt64: StandardWireValue {}

@available(macOS 15, iOS 18, watchOS 11, tvOS 18, visionOS 2, *)
extension Int128: WireValue {
    @inlinable public static var wireKind: WireKind { .int }

    public func write(to writer: inout CompactWriter, as head: WireHead) {
        writer.write(high: Int64(truncatingIfNeeded: self >> 64), low: UInt64(truncatingIfNeeded: self), as: head)
    }

    public init(wire kind: WireKind, from reader: inout CompactReader) throws(WireError) {
        self = try reader.readInteger(kind)
    }
}

@available(macOS 15, iOS 18, watchOS 11, tvOS 18, visionOS 2, *)
extension UInt128: WireValue {
    @inlinable public static var wireKind: WireKind { .int }

    public func write(to writer: inout CompactWriter, as head: WireHead) {
        writer.write(high: UInt64(truncatingIfNeeded: self >> 64), low: UInt64(truncatingIfNeeded: self), as: head)
    }

    public init(wire kind: WireKind, from reader: inout CompactReader) throws(WireError) {
        self = try reader.readInteger(kind)
    }
}

@available(macOS 15, iOS 18, watchOS 11, tvOS 18, visionOS 2, *)
extension Int128: StandardWireValue {}
@available(macOS 15, iOS 18, watchOS 11, tvOS 18, visionOS 2, *)
extension UInt128: StandardWireValue {}

// MARK: - Arrays

extension CompactWriter {
    @inlinable
    mutating func writeIntegers<Element: WireInteger>(_ values: [Element], _ kind: WireKind, as head: WireHead) {
        if kind != .ints && kind != .uints {
            return values.withUnsafeBytes { writeBlock($0, count: values.count, kind, as: head) }
        }
        bytes.reserve(Self.headBytesMax + 10 + 2 * values.count)
        writeHead(head, kind)
        bytes.writeVarint(UInt64(values.count))
        for value in values {
            if Element.isSigned {
                bytes.writeSignedVarint(Int64(truncatingIfNeeded: value))
            } else {
                bytes.writeVarint(UInt64(truncatingIfNeeded: value))
            }
        }
    }
}

extension CompactReader {
    @inlinable
    mutating func readIntegers<Element: WireInteger>(_ kind: WireKind) throws(WireError) -> [Element] {
        if kind != .ints && kind != .uints { return try readBlock(kind, kind) }
        let count = try readCount()
        var values: [Element] = []
        values.reserveCapacity(count)
        for _ in 0..<count {
            let number = try readPacked(kind, as: Element.self)
            values.append(number)
        }
        return values
    }

    @inlinable @inline(__always)
    mutating func readPacked<Element: WireInteger>(
        _ kind: WireKind, as type: Element.Type
    ) throws(WireError) -> Element {
        if kind == .ints {
            let number = try bytes.readSignedVarint()
            if let value = Element(exactly: number) { return value }
            throw .outOfRange("\(number)", Element.self)
        }
        let number = try bytes.readVarint()
        if let value = Element(exactly: number) { return value }
        throw .outOfRange("\(number)", Element.self)
    }
}
