/// A type that the direct path can write and read. The fields of a `WireCodable` type must conform.
///
/// The standard types conform. A type with fields conforms to `WireCodable` instead. An enum with raw values only needs
/// an empty conformance.
public protocol WireValue {
    /// The kind in which most values of the type are written. The reader tries it first.
    static var wireKind: WireKind { get }
    /// The value of an absent field; nil if a missing field is an error.
    static var wireAbsent: Self? { get }

    /// Writes the value with its head.
    ///
    /// - Parameter head: The value's field, or `.element` in a list.
    func write(to writer: inout CompactWriter, as head: WireHead)
    /// Reads a value of the type from the bytes.
    ///
    /// - Parameter kind: The kind of the written value. The reader has just passed it.
    init(wire kind: WireKind, from reader: inout CompactReader) throws(WireError)

    /// Writes an array of values of this type. Arrays of numbers, dates and UUIDs are written as one block.
    static func writeList(_ values: [Self], to writer: inout CompactWriter, as head: WireHead)
    /// Reads an array that `writeList` wrote, or a list of single values.
    static func readList(_ kind: WireKind, from reader: inout CompactReader) throws(WireError) -> [Self]
}

extension WireValue {
    @inlinable public static var wireAbsent: Self? { nil }

    @inlinable
    public static func writeList(_ values: [Self], to writer: inout CompactWriter, as head: WireHead) {
        writer.openList(count: values.count, as: head)
        values.withUnsafeBufferPointer { values in
            guard let first = values.baseAddress else { return }
            for index in 0..<values.count { writer.write(elementAt: first + index) }
        }
        writer.closeList()
    }

    @inlinable
    public static func readList(_ kind: WireKind, from reader: inout CompactReader) throws(WireError) -> [Self] {
        kind == .list ? try reader.readElements() : try reader.readExpanded(kind)
    }
}

// MARK: - Enums with raw values

extension WireValue where Self: RawRepresentable, RawValue: WireValue {
    @inlinable public static var wireKind: WireKind { RawValue.wireKind }

    @inlinable
    public func write(to writer: inout CompactWriter, as head: WireHead) {
        guard Self.hasCachedCases else { return rawValue.write(to: &writer, as: head) }
        let byte = unsafeBitCast(self, to: UInt8.self)
        if writer.writeRepeatedCase(byte, of: ObjectIdentifier(Self.self), as: head) { return }
        rawValue.write(to: &writer, as: head)
        writer.cacheCase(byte, of: ObjectIdentifier(Self.self))
    }

    /// Reads the raw value and returns its case.
    ///
    /// - Throws: `unknownCase`, with the raw value.
    @inlinable
    public init(wire kind: WireKind, from reader: inout CompactReader) throws(WireError) {
        if Self.hasCachedCases, kind == .repeatedString,
            let byte = try reader.readRepeatedCase(of: ObjectIdentifier(Self.self))
        {
            self = unsafeBitCast(byte, to: Self.self)
            return
        }
        let rawValue = try RawValue(wire: kind, from: &reader)
        guard let value = Self(rawValue: rawValue) else { throw .unknownCase("\(rawValue)", keys: Self.self) }
        if Self.hasCachedCases {
            reader.cacheCase(unsafeBitCast(value, to: UInt8.self), of: ObjectIdentifier(Self.self))
        }
        self = value
    }

    /// True if writers and readers remember the string of each case, because searching all cases for a string is slow.
    /// Limited to enums of strings whose cases take one byte in memory.
    @inlinable static var hasCachedCases: Bool { RawValue.self == String.self && MemoryLayout<Self>.size == 1 }
}

// MARK: - Lists

extension CompactWriter {
    @inlinable @inline(__always)
    mutating func write<Element: WireValue>(elementAt pointer: UnsafePointer<Element>) {
        withBorrowed(pointer) { $0.write(to: &self, as: .element) }
    }
}

/// Lends the pointer's value. The type parameter is noncopyable, so that the compiler makes no copy.
@inlinable @inline(__always)
func withBorrowed<Value: ~Copyable>(_ pointer: UnsafePointer<Value>, _ body: (borrowing Value) -> Void) {
    body(pointer.pointee)
}

extension CompactReader {
    /// Reads the count of a list and its elements.
    @inlinable
    mutating func readElements<Element: WireValue>() throws(WireError) -> [Element] {
        let count = try readCount()
        try checkMemory(of: count, Element.self)
        try descend()
        var elements: [Element] = []
        elements.reserveCapacity(count)
        for _ in 0..<count { elements.append(try Element(wire: try readKind(), from: &self)) }
        ascend()
        return elements
    }

    /// Reads a block of a kind that `Element` doesn't write.
    @inlinable
    mutating func readExpanded<Element: WireValue>(_ kind: WireKind) throws(WireError) -> [Element] {
        var elements: [Element] = []
        try expandBlock(kind).read(self) { reader throws(WireError) in elements = try reader.readElements() }
        return elements
    }
}
