import Foundation

/// Writes values as JSON text for people to read.
///
/// Differs from `JSONEncoder` in four ways. Values of redacted types never reach the text. The text has a maximum size and shows
/// where it was cut. Fields keep the order in which the type encodes them, and dates are ISO 8601.
package enum RecordedJSON {
    /// Text in place of a value of a redacted type.
    package static let redaction = "(redacted)"

    /// Types whose values are replaced by `redaction`, wherever a value contains them.
    package struct RedactedTypes: Sendable {
        fileprivate let types: Set<ObjectIdentifier>

        package init(_ types: [any Encodable.Type]) { self.types = Set(types.map { ObjectIdentifier($0) }) }
    }

    /// - Parameter bytesMax: Maximum number of bytes of names and values. "…" replaces the rest.
    /// - Returns: nil if the value can't be encoded.
    package static func text(
        of value: some Encodable, redacting redacted: RedactedTypes = RedactedTypes([]), bytesMax: Int = .max
    ) -> String? {
        let writer = Writer(redactedTypes: redacted.types, bytesLeft: bytesMax)
        return (try? writer.node(of: value, depth: 0)).map(\.text)
    }
}

/// A value that is being encoded.
private final class Node {
    enum Content {
        case open
        case text(String)
        case record, list
    }

    var content = Content.open
    /// Names of a record's fields, in the order of their first use.
    private var names: [String] = []
    private var fields: [String: Node] = [:]
    private(set) var elements: [Node] = []
    /// Number of elements that the value has encoded, including those that were cut.
    var count = 0
    /// True if "…" replaces the following elements.
    var isCut = false

    init(_ content: Content = .open) { self.content = content }

    static func literal(_ text: String) -> Node { Node(.text(quoted(text))) }

    subscript(name: String) -> Node? {
        get { fields[name] }
        set { if fields.updateValue(newValue ?? Node(), forKey: name) == nil { names.append(name) } }
    }

    func append(_ node: Node) { elements.append(node) }

    var text: String {
        switch content {
        case .text(let text): text
        case .list: "[\(elements.map(\.text).joined(separator: ","))]"
        case .open, .record:
            "{\(names.map { "\(quoted($0)):\(fields[$0]?.text ?? "null")" }.joined(separator: ","))}"
        }
    }

    /// Sorts the contents, so that equal dictionaries and sets become equal texts.
    func sort(valuesEach: Int) {
        names.sort()
        let groups = stride(from: 0, to: elements.count, by: valuesEach).map {
            Array(elements[$0..<min($0 + valuesEach, elements.count)])
        }
        elements = groups.map { ($0.map(\.text).joined(separator: ","), $0) }.sorted { $0.0 < $1.0 }.flatMap(\.1)
    }
}

private func quoted(_ text: String) -> String {
    if !text.utf8.contains(where: { $0 < 0x20 || $0 == 0x22 || $0 == 0x5C }) { return "\"\(text)\"" }
    var quoted = "\""
    for scalar in text.unicodeScalars {
        switch scalar {
        case "\"", "\\": quoted += "\\\(scalar)"
        case "\u{0}"..<" ":
            let digits = String(scalar.value, radix: 16)
            quoted += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
        default: quoted.unicodeScalars.append(scalar)
        }
    }
    return quoted + "\""
}

/// A type that encodes its elements in the order of their hashes.
private protocol UnorderedValue {
    static var valuesEach: Int { get }
    /// The type of the keys, which a dictionary may encode as names instead of as values.
    static var keyType: Any.Type { get }
}
extension Set: UnorderedValue {
    static var valuesEach: Int { 1 }
    static var keyType: Any.Type { Element.self }
}
extension Dictionary: UnorderedValue {
    static var valuesEach: Int { 2 }
    static var keyType: Any.Type { Key.self }
}

private final class Writer {
    /// Maximum nesting. Deeper values are cut, because each level uses stack space.
    private static let depthMax = 64

    private let redactedTypes: Set<ObjectIdentifier>
    private var bytesLeft: Int

    init(redactedTypes: Set<ObjectIdentifier>, bytesLeft: Int) {
        (self.redactedTypes, self.bytesLeft) = (redactedTypes, bytesLeft)
    }

    var isFull: Bool { bytesLeft <= 0 }

    func spend(_ bytes: Int) { bytesLeft -= bytes }

    private func isRedacted(_ type: Any.Type) -> Bool {
        guard !redactedTypes.isEmpty else { return false }
        return redactedTypes.contains(ObjectIdentifier(type))
            || (type as? any UnorderedValue.Type).map { isRedacted($0.keyType) } ?? false
    }

    func node<Value: Encodable>(of value: Value, depth: Int) throws -> Node {
        if isRedacted(Value.self) || isRedacted(type(of: value)) { return .literal(RecordedJSON.redaction) }
        guard !isFull, depth < Self.depthMax else { return .literal("…") }
        if let leaf = leaf(value) { return leaf }
        let node = Node()
        try value.encode(to: NodeEncoder(node: node, writer: self, depth: depth))
        if let type = Value.self as? any UnorderedValue.Type { node.sort(valuesEach: type.valuesEach) }
        return node
    }

    /// Returns the text of a value that has no containers, or is easier to read without them.
    private func leaf<Value: Encodable>(_ value: Value) -> Node? {
        // Casting would unwrap an optional, whose value may be redacted.
        guard !(Value.self is any ExpressibleByNilLiteral.Type) else { return nil }
        return switch value {
        case let value as String: string(value)
        case let value as Bool: plain("\(value)")
        case let value as any BinaryInteger: plain("\(value)")
        case let value as Double: number(value)
        case let value as Float: number(value)
        case let value as Decimal: plain(value.isNaN ? "\"NaN\"" : "\(value)")
        case let value as Date: date(value)
        case let value as Data: string(value.prefix(max(0, bytesLeft)).base64EncodedString())
        case let value as URL: string(value.absoluteString)
        default: nil
        }
    }

    private func plain(_ text: String) -> Node {
        spend(text.utf8.count)
        return Node(.text(text))
    }

    private func number(_ value: some BinaryFloatingPoint & CustomStringConvertible) -> Node {
        if value.isFinite { return plain(value.description) }
        return plain(value.isNaN ? "\"NaN\"" : value > 0 ? "\"Infinity\"" : "\"-Infinity\"")
    }

    private func string(_ text: String) -> Node {
        guard text.utf8.count > bytesLeft else { return plain(quoted(text)) }
        let kept = String(decoding: text.utf8.prefix(bytesLeft), as: UTF8.self)
        spend(bytesLeft)
        return .literal(kept + "…")
    }

    /// Returns ISO 8601, or seconds since 1970 for dates outside the years 1 to 9999, which ISO 8601 can't express.
    private func date(_ date: Date) -> Node {
        let seconds = date.timeIntervalSince1970
        guard seconds > -62_135_596_800, seconds < 253_402_300_799 else { return number(seconds) }
        return plain(quoted(date.formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true))))
    }
}

// MARK: - Containers

private struct NodeEncoder: Encoder {
    let node: Node
    let writer: Writer
    let depth: Int

    var codingPath: [any CodingKey] { [] }
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
        node.content = .record
        return KeyedEncodingContainer(NodeFields(encoder: self))
    }

    func unkeyedContainer() -> any UnkeyedEncodingContainer {
        node.content = .list
        return NodeList(encoder: self)
    }

    func singleValueContainer() -> any SingleValueEncodingContainer { NodeValue(encoder: self) }

    func child(_ value: some Encodable) throws -> Node { try writer.node(of: value, depth: depth + 1) }
    func nested(_ node: Node) -> NodeEncoder { NodeEncoder(node: node, writer: writer, depth: depth + 1) }

    /// Adds a field and returns its node. If the writer is full, returns a node that isn't part of the text.
    func field(_ name: String, _ make: () throws -> Node) rethrows -> Node {
        guard !writer.isFull else {
            node["…"] = .literal("…")
            return Node()
        }
        writer.spend(name.utf8.count + 4)
        let made = try make()
        node[name] = made
        return made
    }

    /// Adds an element and returns its node. If the writer is full, returns a node that isn't part of the text.
    func element(_ make: () throws -> Node) rethrows -> Node {
        let wasFull = writer.isFull
        node.count += 1
        guard !wasFull else {
            if !node.isCut { node.append(.literal("…")) }
            node.isCut = true
            return Node()
        }
        writer.spend(1)
        let made = try make()
        node.append(made)
        return made
    }
}

private struct NodeFields<Key: CodingKey>: KeyedEncodingContainerProtocol {
    let encoder: NodeEncoder
    var codingPath: [any CodingKey] { [] }

    mutating func encodeNil(forKey key: Key) { _ = encoder.field(key.stringValue) { Node(.text("null")) } }

    mutating func encode<Value: Encodable>(_ value: Value, forKey key: Key) throws {
        _ = try encoder.field(key.stringValue) { try encoder.child(value) }
    }

    mutating func nestedContainer<Nested: CodingKey>(
        keyedBy type: Nested.Type, forKey key: Key
    ) -> KeyedEncodingContainer<Nested> { nested(key.stringValue).container(keyedBy: type) }

    mutating func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
        nested(key.stringValue).unkeyedContainer()
    }

    mutating func superEncoder() -> any Encoder { nested("super") }
    mutating func superEncoder(forKey key: Key) -> any Encoder { nested(key.stringValue) }

    private func nested(_ name: String) -> NodeEncoder {
        encoder.nested(encoder.node[name] ?? encoder.field(name) { Node() })
    }
}

private struct NodeList: UnkeyedEncodingContainer {
    let encoder: NodeEncoder
    var codingPath: [any CodingKey] { [] }
    var count: Int { encoder.node.count }

    mutating func encodeNil() { _ = encoder.element { Node(.text("null")) } }
    mutating func encode<Value: Encodable>(_ value: Value) throws {
        _ = try encoder.element { try encoder.child(value) }
    }

    mutating func nestedContainer<Nested: CodingKey>(keyedBy type: Nested.Type) -> KeyedEncodingContainer<Nested> {
        encoder.nested(encoder.element { Node() }).container(keyedBy: type)
    }

    mutating func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer {
        encoder.nested(encoder.element { Node() }).unkeyedContainer()
    }

    mutating func superEncoder() -> any Encoder { encoder.nested(encoder.element { Node() }) }
}

private struct NodeValue: SingleValueEncodingContainer {
    let encoder: NodeEncoder
    var codingPath: [any CodingKey] { [] }

    mutating func encodeNil() { encoder.node.content = .text("null") }

    mutating func encode<Value: Encodable>(_ value: Value) throws {
        let child = try encoder.child(value)
        encoder.node.take(child)
    }
}

extension Node {
    /// Replaces this node's contents by those of another node, for a value that encodes itself as a single value.
    fileprivate func take(_ other: Node) {
        (content, names, fields) = (other.content, other.names, other.fields)
        (elements, count) = (other.elements, other.count)
    }
}
