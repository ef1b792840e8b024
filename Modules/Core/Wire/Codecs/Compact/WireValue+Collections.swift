// Optionals, arrays, sets and dictionaries, in the same form as through Codable.

extension Optional: WireValue where Wrapped: WireValue {
    @inlinable public static var wireKind: WireKind { Wrapped.wireKind }
    @inlinable public static var wireAbsent: Wrapped?? { .some(nil) }

    /// Leaves out a field that is nil. Writes a mark before a present value that reads as nil.
    @inlinable @inline(__always)
    public func write(to writer: inout CompactWriter, as head: WireHead) {
        switch self {
        case .some(let value):
            if Wrapped.wireAbsent == nil {
                value.write(to: &writer, as: head)
            } else {
                writer.writePresent(value, as: head)
            }
        case nil:
            if head.field == 0 { writer.writeNil(as: head) }
        }
    }

    @inlinable @inline(__always)
    public init(wire kind: WireKind, from reader: inout CompactReader) throws(WireError) {
        if _slowPath(kind == .nil) {
            self = nil
        } else if _slowPath(kind == .some) {
            self = try Wrapped(wire: try reader.readKind(), from: &reader)
        } else {
            self = try Wrapped(wire: kind, from: &reader)
        }
    }
}

extension Array: WireValue where Element: WireValue {
    @inlinable public static var wireKind: WireKind { .list }

    @inlinable
    public func write(to writer: inout CompactWriter, as head: WireHead) {
        Element.writeList(self, to: &writer, as: head)
    }

    @inlinable
    public init(wire kind: WireKind, from reader: inout CompactReader) throws(WireError) {
        self = try Element.readList(kind, from: &reader)
    }
}

extension ContiguousArray: WireValue where Element: WireValue {
    @inlinable public static var wireKind: WireKind { .list }

    @inlinable
    public func write(to writer: inout CompactWriter, as head: WireHead) {
        Element.writeList(Array(self), to: &writer, as: head)
    }

    @inlinable
    public init(wire kind: WireKind, from reader: inout CompactReader) throws(WireError) {
        self = ContiguousArray(try Element.readList(kind, from: &reader))
    }
}

extension Set: WireValue where Element: WireValue {
    @inlinable public static var wireKind: WireKind { .list }

    /// Writes the elements as an array. A deterministic codec sorts them by their bytes.
    public func write(to writer: inout CompactWriter, as head: WireHead) {
        let elements = writer.isDeterministic ? writer.sorted(Array(self)) { $0 } : Array(self)
        Element.writeList(elements, to: &writer, as: head)
    }

    public init(wire kind: WireKind, from reader: inout CompactReader) throws(WireError) {
        self = Set(try Element.readList(kind, from: &reader))
    }
}

/// A dictionary has the same form as in Codable. If its keys are `String`, `Int` or `CodingKeyRepresentable`, it is a
/// record and the keys are the names of its fields. Otherwise it is a list of alternating keys and values.
extension Dictionary: WireValue where Key: WireValue, Value: WireValue {
    @inlinable public static var wireKind: WireKind { .namedRecord }

    /// Writes the entries as a record or a list. A deterministic codec sorts them by name, or by the bytes of the keys.
    public func write(to writer: inout CompactWriter, as head: WireHead) {
        if Self.isSpecialized, !writer.isDeterministic { return writeSpecialized(to: &writer, as: head) }
        if Key.isWireName { return writeNamed(to: &writer, as: head) }
        let pairs = writer.isDeterministic ? writer.sorted(Array(self)) { $0.key } : Array(self)
        writer.openList(count: 2 * pairs.count, as: head)
        for (key, value) in pairs {
            key.write(to: &writer, as: .element)
            value.write(to: &writer, as: .element)
        }
        writer.closeList()
    }

    private func writeNamed(to writer: inout CompactWriter, as head: WireHead) {
        var pairs = map { (name: $0.key.wireName ?? "", value: $0.value) }
        if writer.isDeterministic { pairs.sort { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) } }
        if Key.self is any CodingKeyRepresentable.Type, Key.self != String.self {
            var names: Set<String> = []
            if let repeated = pairs.first(where: { !names.insert($0.name).inserted }) {
                writer.fail(.repeatedName(repeated.name))
            }
        }
        writer.openRecord(.namedRecord, as: head)
        for (name, value) in pairs {
            let field = writer.writeName(name)
            writer.writeIncludingNil(value, as: field)
        }
        writer.closeRecord()
    }

    public init(wire kind: WireKind, from reader: inout CompactReader) throws(WireError) {
        if kind == .namedRecord, Self.isSpecialized {
            self = try Self.readSpecialized(from: &reader)
            return
        }
        self = try kind == .namedRecord ? Self.readNamed(from: &reader) : Self.readPairs(kind, from: &reader)
    }

    private static func readNamed(from reader: inout CompactReader) throws(WireError) -> [Key: Value] {
        guard Key.isWireName else { throw .mismatch(.namedRecord, wanted: "a list of keys and values") }
        var result: [Key: Value] = [:]
        try reader.descend()
        while let field = try reader.readNamedHead() {
            let name = try String(wire: field.name)
            guard let key = Key(wireName: name) else { throw .outOfRange(name, Key.self) }
            result.updateValue(try Value(wire: field.kind, from: &reader), forKey: key)
        }
        reader.ascend()
        return result
    }

    private static func readPairs(
        _ kind: WireKind, from reader: inout CompactReader
    ) throws(WireError) -> [Key: Value] {
        guard kind == .list else { throw .mismatch(kind, wanted: "a list of keys and values") }
        let count = try reader.readCount()
        guard count.isMultiple(of: 2) else { throw WireError(.corrupted, "a key has no value") }
        try reader.checkMemory(of: count / 2, (Key, Value).self)
        try reader.descend()
        var result: [Key: Value] = [:]
        for _ in 0..<count / 2 {
            let key = try Key(wire: try reader.readKind(), from: &reader)
            result.updateValue(try Value(wire: try reader.readKind(), from: &reader), forKey: key)
        }
        reader.ascend()
        return result
    }
}

extension Optional: StandardWireValue where Wrapped: StandardWireValue {}
extension Array: StandardWireValue where Element: StandardWireValue {}
extension ContiguousArray: StandardWireValue where Element: StandardWireValue {}
extension Set: StandardWireValue where Element: StandardWireValue {}
extension Dictionary: StandardWireValue where Key: StandardWireValue, Value: StandardWireValue {}

// MARK: - Keys as names

extension WireValue {
    /// True if Codable writes keys of this type as names.
    fileprivate static var isWireName: Bool {
        Self.self == String.self || Self.self == Int.self || Self.self is any CodingKeyRepresentable.Type
    }

    fileprivate var wireName: String? {
        if Self.self == String.self { return unsafeBitCast(self, to: String.self) }
        return switch self {
        case let number as Int: String(number)
        default: (self as? any CodingKeyRepresentable)?.codingKey.stringValue
        }
    }

    fileprivate init?(wireName name: String) {
        if Self.self == String.self {
            self = unsafeBitCast(name, to: Self.self)
            return
        }
        let value: Any? =
            if Self.self == Int.self { Int(name) } else {
                (Self.self as? any CodingKeyRepresentable.Type)?.init(codingKey: NameKey(stringValue: name))
            }
        guard let value = value as? Self else { return nil }
        self = value
    }
}

private struct NameKey: CodingKey {
    let stringValue: String
    var intValue: Int? { Int(stringValue) }

    init(stringValue: String) { self.stringValue = stringValue }
    init(intValue: Int) { stringValue = String(intValue) }
}

// MARK: - Nested optionals, sorted elements

extension CompactWriter {
    /// Writes the value of an optional. The value may itself read as nil.
    @usableFromInline
    mutating func writePresent<Value: WireValue>(_ value: Value, as head: WireHead) {
        let start = bytes.position
        value.write(to: &self, as: head)
        if bytes.position == start { writeNil(as: head) }
        markPresent(from: start, as: head)
    }

    /// Puts a mark before a present value that reads as nil: `.some(nil)` becomes *some*, *nil*.
    @inline(__always)
    mutating func markPresent(from start: Int, as head: WireHead) {
        let end = bytes.base.load(fromByteOffset: bytes.position - 1, as: UInt8.self)
        if _slowPath(end == WireKind.nil.rawValue && bytes.position - start < 2 * Self.headBytesMax + depthMax) {
            markNilAsPresent(from: start, as: head)
        }
    }

    /// Inserts the mark if the value at `start` is a nil or a marked nil. Other values may end in the same byte.
    @usableFromInline @inline(never)
    mutating func markNilAsPresent(from start: Int, as head: WireHead) {
        var offset = start
        if head.field > 0 {
            guard bytes.bytes[start] & 7 == WireKind.extended.rawValue else { return }
            while bytes.bytes[offset] >= 0x80 { offset += 1 }
            offset += 1
        }
        let kinds = bytes.bytes[offset...]
        guard kinds.dropLast().allSatisfy({ $0 == WireKind.some.rawValue }) else { return }
        bytes.write(WireKind.nil.rawValue)
        bytes.base.storeBytes(of: WireKind.some.rawValue, toByteOffset: bytes.position - 2, as: UInt8.self)
    }

    /// Writes a value even if it is a nil that would be left out as a field.
    @inline(__always)
    mutating func writeIncludingNil<Value: WireValue>(_ value: Value, as head: WireHead) {
        let start = bytes.position
        value.write(to: &self, as: head)
        if _slowPath(bytes.position == start) { writeNil(as: head) }
    }

    /// Sorts elements by the encoded bytes of a part of each.
    func sorted<Element, Part: WireValue>(_ elements: [Element], by part: (Element) -> Part) -> [Element] {
        let keyed = elements.map { element in
            var writer = CompactWriter(bytes: WireWriter(), mode: .deterministic, depthMax: depthMax)
            part(element).write(to: &writer, as: .element)
            return (bytes: writer.bytes.array(), element: element)
        }
        return keyed.sorted { $0.bytes.lexicographicallyPrecedes($1.bytes) }.map(\.element)
    }
}
