/// Anything that the direct path can write: what a field of a `WireCodable` type may be.
///
/// The standard types conform. A type with fields conforms to `WireCodable` instead, and an enum with raw values needs
/// an empty conformance only.
public protocol WireValue {
    /// The kind under which most values of the type are written; reading is fastest for it.
    static var wireKind: WireKind { get }
    /// What an absent field reads as; nil when it is an error.
    static var wireAbsent: Self? { get }

    func write(to writer: inout CompactWriter, as head: WireHead)
    /// - Parameter kind: what was written, which the reader has just passed.
    init(wire kind: WireKind, from reader: inout CompactReader) throws(WireError)

    /// Arrays of fixed-width numbers are written as one block.
    static func writeList(_ values: [Self], to writer: inout CompactWriter, as head: WireHead)
    static func readList(_ kind: WireKind, from reader: inout CompactReader) throws(WireError) -> [Self]
}

extension WireValue {
    @inlinable public static var wireAbsent: Self? { nil }

    @inlinable
    public static func writeList(_ values: [Self], to writer: inout CompactWriter, as head: WireHead) {
        writer.openList(count: values.count, as: head)
        values.withUnsafeBufferPointer { values in
            for index in values.indices { values[index].write(to: &writer, as: .element) }
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
    public func write(to writer: inout CompactWriter, as head: WireHead) { rawValue.write(to: &writer, as: head) }

    /// - Throws: `unknownCase`, naming the value.
    @inlinable
    public init(wire kind: WireKind, from reader: inout CompactReader) throws(WireError) {
        // Comparing a string with every case takes longer than all else. What fits into a byte can be remembered as that.
        let isMemorable = RawValue.self == String.self && MemoryLayout<Self>.size == 1
        if isMemorable, kind == .repeatedString, let byte = try reader.readRepeatedCase(of: ObjectIdentifier(Self.self))
        {
            self = unsafeBitCast(byte, to: Self.self)
            return
        }
        let rawValue = try RawValue(wire: kind, from: &reader)
        guard let value = Self(rawValue: rawValue) else { throw .unknownCase("\(rawValue)", keys: Self.self) }
        if isMemorable { reader.noteCase(unsafeBitCast(value, to: UInt8.self), of: ObjectIdentifier(Self.self)) }
        self = value
    }
}

// MARK: - Lists

extension CompactReader {
    /// Reads the count and elements of a list.
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

    /// Reads a block of other numbers than `Element` writes.
    @inlinable
    mutating func readExpanded<Element: WireValue>(_ kind: WireKind) throws(WireError) -> [Element] {
        var elements: [Element] = []
        try expandBlock(kind).read(self) { reader throws(WireError) in elements = try reader.readElements() }
        return elements
    }
}
