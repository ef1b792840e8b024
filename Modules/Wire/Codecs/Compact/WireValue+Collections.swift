// Optionals, arrays, sets and dictionaries, in the form in which Codable writes them.

extension Optional: WireValue where Wrapped: WireValue {
    @inlinable public static var wireKind: WireKind { Wrapped.wireKind }
    @inlinable public static var wireAbsent: Wrapped?? { .some(nil) }

    /// A field that is nil is left out; a value that is there and itself reads as nil is marked as being there.
    @inlinable @inline(__always)
    public func write(to writer: inout CompactWriter, as head: WireHead) {
        switch self {
        case .some(let value):
            if Wrapped.wireAbsent == nil {
                value.write(to: &writer, as: head)
            } else {
                writer.writeMarked(value, as: head)
            }
        case nil:
            if head.field == 0 { writer.writeNil(as: head) }
        }
    }

    @inlinable @inline(__always)
    public static func read(_ kind: WireKind, from reader: inout CompactReader) throws(WireError) -> Wrapped? {
        if _slowPath(kind == .nil) { return nil }
        if _slowPath(kind == .some) { return try Wrapped.read(try reader.readKind(), from: &reader) }
        return try Wrapped.read(kind, from: &reader)
    }
}

extension Array: WireValue where Element: WireValue {
    @inlinable public static var wireKind: WireKind { .list }

    @inlinable
    public func write(to writer: inout CompactWriter, as head: WireHead) {
        Element.writeList(self, to: &writer, as: head)
    }

    @inlinable
    public static func read(_ kind: WireKind, from reader: inout CompactReader) throws(WireError) -> [Element] {
        try Element.readList(kind, from: &reader)
    }
}

extension ContiguousArray: WireValue where Element: WireValue {
    @inlinable public static var wireKind: WireKind { .list }

    @inlinable
    public func write(to writer: inout CompactWriter, as head: WireHead) {
        Element.writeList(Array(self), to: &writer, as: head)
    }

    @inlinable
    public static func read(
        _ kind: WireKind, from reader: inout CompactReader
    ) throws(WireError) -> ContiguousArray<Element> {
        ContiguousArray(try Element.readList(kind, from: &reader))
    }
}

extension Set: WireValue where Element: WireValue {
    @inlinable public static var wireKind: WireKind { .list }

    /// In the order of the elements' bytes when the codec is deterministic.
    public func write(to writer: inout CompactWriter, as head: WireHead) {
        let elements = writer.isDeterministic ? writer.sorted(Array(self)) { $0 } : Array(self)
        Element.writeList(elements, to: &writer, as: head)
    }

    public static func read(_ kind: WireKind, from reader: inout CompactReader) throws(WireError) -> Set<Element> {
        Set(try Element.readList(kind, from: &reader))
    }
}

/// Keys that are strings or integers, or say how they become such, are names of a record; others make a list of keys
/// and values in turn. That is what Codable does.
extension Dictionary: WireValue where Key: WireValue, Value: WireValue {
    @inlinable public static var wireKind: WireKind { .namedRecord }

    /// In the order of the keys' bytes when the codec is deterministic.
    public func write(to writer: inout CompactWriter, as head: WireHead) {
        let pairs = writer.isDeterministic ? writer.sorted(Array(self)) { $0.key } : Array(self)
        if Key.isWireName {
            writer.openRecord(.namedRecord, as: head)
            for (key, value) in pairs {
                let field = writer.writeName(key.wireName ?? "")
                value.writePresent(to: &writer, as: field)
            }
            return writer.closeRecord()
        }
        writer.openList(count: 2 * pairs.count, as: head)
        for (key, value) in pairs {
            key.write(to: &writer, as: .element)
            value.write(to: &writer, as: .element)
        }
        writer.closeList()
    }

    public static func read(_ kind: WireKind, from reader: inout CompactReader) throws(WireError) -> [Key: Value] {
        kind == .namedRecord ? try readNamed(from: &reader) : try readPairs(kind, from: &reader)
    }

    private static func readNamed(from reader: inout CompactReader) throws(WireError) -> [Key: Value] {
        guard Key.isWireName else { throw .mismatch(.namedRecord, wanted: "a list of keys and values") }
        var result: [Key: Value] = [:]
        try reader.descend()
        while let field = try reader.readNamedHead() {
            let name = try String(wire: field.name)
            guard let key = Key(wireName: name) else { throw .outOfRange(name, Key.self) }
            result[key] = try Value.read(field.kind, from: &reader)
        }
        reader.ascend()
        return result
    }

    private static func readPairs(
        _ kind: WireKind, from reader: inout CompactReader
    ) throws(WireError) -> [Key: Value] {
        var result: [Key: Value] = [:]
        var pending: Key?
        try reader.readElements(kind, reserve: { _ in }, of: Key.self) { kind, reader throws(WireError) in
            if let key = pending {
                result[key] = try Value.read(kind, from: &reader)
                pending = nil
            } else {
                pending = try Key.read(kind, from: &reader)
            }
        }
        guard pending == nil else { throw WireError(.corrupted, "a key has no value") }
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
    /// Whether Codable would write this type's values as names when they are keys.
    fileprivate static var isWireName: Bool {
        Self.self == String.self || Self.self == Int.self || Self.self is any CodingKeyRepresentable.Type
    }

    fileprivate var wireName: String? {
        switch self {
        case let name as String: name
        case let number as Int: String(number)
        default: (self as? any CodingKeyRepresentable)?.codingKey.stringValue
        }
    }

    fileprivate init?(wireName name: String) {
        let value: Any? =
            if Self.self == String.self { name } else if Self.self == Int.self { Int(name) } else {
                (Self.self as? any CodingKeyRepresentable.Type)?.init(codingKey: NameKey(stringValue: name))
            }
        guard let value = value as? Self else { return nil }
        self = value
    }

    /// Writes a nil too: a dictionary may hold one.
    fileprivate func writePresent(to writer: inout CompactWriter, as head: WireHead) {
        let start = writer.bytes.position
        write(to: &writer, as: head)
        if writer.bytes.position == start { writer.writeNil(as: head) }
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
    /// Writes the value of an optional that may itself read as nil.
    @usableFromInline
    mutating func writeMarked<Value: WireValue>(_ value: Value, as head: WireHead) {
        var probe = CompactWriter(bytes: WireWriter(capacity: 16))
        value.write(to: &probe, as: .element)
        let isNil = probe.bytes.position == 1 && probe.bytes.bytes[0] == WireKind.nil.rawValue
        guard isNil else { return value.write(to: &self, as: head) }
        bytes.reserve(Self.headBytesMax + 1)
        writeHead(head, .some)
        writeHead(.element, .nil)
    }

    /// Sorted by the bytes of a part of each element, written on its own.
    func sorted<Element, Part: WireValue>(_ elements: [Element], by part: (Element) -> Part) -> [Element] {
        let keyed = elements.map { element in
            var writer = CompactWriter(bytes: WireWriter(), mode: .deterministic, depthMax: depthMax)
            part(element).write(to: &writer, as: .element)
            return (bytes: writer.bytes.array(), element: element)
        }
        return keyed.sorted { $0.bytes.lexicographicallyPrecedes($1.bytes) }.map(\.element)
    }
}
