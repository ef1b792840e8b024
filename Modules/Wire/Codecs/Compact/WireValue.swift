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
        var values: [Self] = []
        try reader.readElements(kind, reserve: { values.reserveCapacity($0) }, of: Self.self) {
            kind, reader throws(WireError) in
            values.append(try Self(wire: kind, from: &reader))
        }
        return values
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
        let rawValue = try RawValue(wire: kind, from: &reader)
        guard let value = Self(rawValue: rawValue) else { throw .unknownCase("\(rawValue)", keys: Self.self) }
        self = value
    }
}

// MARK: - Lists of any form

extension CompactReader {
    /// Reads a list or a block, one element at a time.
    @inlinable @inline(__always)
    mutating func readElements<Element>(
        _ kind: WireKind, reserve: (Int) -> Void, of type: Element.Type,
        _ body: (WireKind, inout CompactReader) throws(WireError) -> Void
    ) throws(WireError) {
        if _fastPath(kind == .list) {
            let count = try readCount()
            try checkMemory(of: count, Element.self)
            reserve(count)
            try descend()
            for _ in 0..<count { try body(try readKind(), &self) }
            ascend()
        } else {
            try expandBlock(kind).read(self) { reader throws(WireError) in
                try reader.readElements(.list, reserve: reserve, of: Element.self, body)
            }
        }
    }
}
