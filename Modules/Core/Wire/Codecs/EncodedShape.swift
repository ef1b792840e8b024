import MeshFoundation

/// The records, lists and values that a type's `encode(to:)` requests, collected before the codec writes any of them.
///
/// Where Codable leaves a choice, the containers behave like Foundation's JSON encoder. A key that is encoded twice
/// keeps its last value. A container that is requested again continues where it was. A value whose encoding throws
/// isn't added.
/// Two kinds of container for one value are an error here; Foundation stops the process.
final class EncodedShape {
    enum Content {
        /// Nothing has been encoded yet.
        case open
        /// A value that the codec writes itself.
        case value(any Encodable)
        case record, list
    }

    /// Rules that differ between codecs.
    struct Rules: Sendable {
        let depthMax: Int
        /// Returns true if the codec writes values of this type itself, without containers.
        let isValue: @Sendable (Any.Type) -> Bool
        /// Throws for a value that the codec can't keep.
        var check: @Sendable (any Encodable) throws(WireError) -> Void = { _ in }
        /// True if the codec distinguishes `.some(nil)` from nil.
        var keepsNestedNil = true
        /// Returns the bytes by which elements of sets and dictionaries are sorted; nil keeps the order in memory.
        var order: (@Sendable (EncodedShape) throws -> [UInt8])?
    }

    private(set) var content = Content.open
    /// The set or dictionary type of this value, or of the single value that it encodes; nil for all other values.
    private(set) var collection: (any UnorderedCollection.Type)?
    /// Names of a record's fields, in the order of their first use.
    private(set) var names: [String] = []
    private var fields: [String: EncodedShape] = [:]
    private(set) var elements: [EncodedShape] = []

    fileprivate init() {}

    fileprivate static var null: EncodedShape {
        let shape = EncodedShape()
        shape.content = .value(Int?.none)
        return shape
    }

    /// Runs a value's `encode(to:)`.
    /// - Throws: `WireError` (`tooDeep`, `encodingFailed`) with the path, or the errors of the value's `encode(to:)`.
    static func make<Value: Encodable>(_ value: Value, _ rules: Rules, depth: Int = 0) throws -> EncodedShape {
        let shape = EncodedShape()
        try rules.check(value)
        if rules.isValue(Value.self) {
            shape.content = .value(value)
            return shape
        }
        guard depth < rules.depthMax else {
            throw WireError(.tooDeep, "values are nested more than \(rules.depthMax) levels deep")
        }
        let encoder = ShapeEncoder(shape: shape, rules: rules, depth: depth, type: Value.self)
        try value.encode(to: encoder)
        if let failure = encoder.failure.error { throw failure }
        shape.close()
        if let collection = Value.self as? any UnorderedCollection.Type {
            shape.collection = collection
            if let order = rules.order { try shape.sort(valuesEach: Int(collection.valuesEach), by: order) }
        }
        return shape
    }

    /// True for `Decimal`, `URL`, and types that have the same bytes on both paths of the compact codec.
    static func isStandard(_ type: Any.Type) -> Bool {
        type is any StandardWireValue.Type || type == Decimal.self || type == URL.self
    }

    private func sort(valuesEach: Int, by order: (EncodedShape) throws -> [UInt8]) throws {
        names.sort { $0.utf8.lexicographicallyPrecedes($1.utf8) }
        elements = try stride(from: 0, to: elements.count, by: valuesEach)
            .map { (bytes: try order(elements[$0]), values: elements[$0..<min($0 + valuesEach, elements.count)]) }
            .sorted { $0.bytes.lexicographicallyPrecedes($1.bytes) }
            .flatMap(\.values)
    }

    /// Marks a nil that is inside an optional, so that it differs from the optional's own nil.
    fileprivate func markPresent(_ rules: Rules) throws {
        guard case .value(let value) = content, let optional = value as? any OptionalValue, optional.isNil else {
            return
        }
        guard rules.keepsNestedNil else {
            throw WireError(.encodingFailed, "an optional that holds nil would be decoded as nil")
        }
        content = .value(optional.asPresent)
    }

    /// - Throws: `encodingFailed` if the value already has another kind of container.
    fileprivate func open(as wanted: Content, _ encoder: ShapeEncoder) throws {
        if case .value(let value) = content {
            // A value that the codec writes itself may be a record or list: expand it, so that the container can add to it.
            let expanded = EncodedShape()
            try value.encode(to: encoder.nested(expanded))
            replace(by: expanded)
        }
        switch (content, wanted) {
        case (.record, .record), (.list, .list): return
        case (.open, _): content = wanted
        default: throw WireError.encodedAsTwo
        }
    }

    /// Turns a value that encoded nothing into an empty record.
    fileprivate func close() {
        if case .open = content { content = .record }
    }

    fileprivate subscript(name: String) -> EncodedShape? {
        get { fields[name] }
        set {
            if fields.updateValue(newValue ?? EncodedShape(), forKey: name) == nil { names.append(name) }
        }
    }

    fileprivate func append(_ element: EncodedShape) { elements.append(element) }

    fileprivate func replace(by other: EncodedShape) {
        (content, collection) = (other.content, other.collection)
        (names, fields, elements) = (other.names, other.fields, other.elements)
    }
}

/// Writes a shape into any encoder. Requests each container and writes each key once.
extension EncodedShape: Encodable {
    func encode(to encoder: any Encoder) throws {
        switch content {
        case .value(let value):
            var container = encoder.singleValueContainer()
            try container.encode(value)
        case .open, .record:
            var container = encoder.container(keyedBy: ShapeName.self)
            for name in names {
                if let field = fields[name] { try container.encode(field, forKey: ShapeName(stringValue: name)) }
            }
        case .list:
            var container = encoder.unkeyedContainer()
            for element in elements { try container.encode(element) }
        }
    }
}

/// A coding key with any name.
struct ShapeName: CodingKey {
    let stringValue: String
    var intValue: Int? { Int(stringValue) }

    init(stringValue: String) { self.stringValue = stringValue }
    init(intValue: Int) { stringValue = String(intValue) }
}

// MARK: - Nested optionals

private protocol OptionalValue {
    var isNil: Bool { get }
    /// This optional wrapped in another optional.
    var asPresent: any Encodable { get }
}

extension Optional: OptionalValue where Wrapped: Encodable {
    var isNil: Bool {
        guard case .some(let wrapped) = self else { return true }
        return (wrapped as? any OptionalValue)?.isNil ?? false
    }

    var asPresent: any Encodable { Wrapped??.some(self) }
}

// MARK: - Containers

/// The error of a request for a container. Such a request can't throw, so the next write throws the error.
private final class ShapeFailure {
    var error: (any Error)?
}

private struct ShapeEncoder: Encoder {
    let shape: EncodedShape
    let rules: EncodedShape.Rules
    let depth: Int
    /// The type whose `encode(to:)` receives this encoder; nil for nested containers.
    let type: Any.Type?
    var failure = ShapeFailure()

    var codingPath: [any CodingKey] { [] }
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
        open(as: .record)
        return KeyedEncodingContainer(ShapeKeyedWriter(encoder: self))
    }

    func unkeyedContainer() -> any UnkeyedEncodingContainer {
        open(as: .list)
        return ShapeListWriter(encoder: self)
    }

    func singleValueContainer() -> any SingleValueEncodingContainer { ShapeSingleWriter(encoder: self) }

    private func open(as wanted: EncodedShape.Content) {
        do { try shape.open(as: wanted, self) } catch { failure.error = error }
    }

    /// - Parameter isPresent: True if the value is wrapped in an optional.
    func make<Value: Encodable>(_ value: Value, isPresent: Bool = false) throws -> EncodedShape {
        let made = try EncodedShape.make(value, rules, depth: depth + 1)
        if isPresent { try made.markPresent(rules) }
        return made
    }

    /// Returns an encoder for a container inside this one. If there is no shape, its output is discarded.
    func nested(_ shape: EncodedShape?) -> ShapeEncoder {
        ShapeEncoder(shape: shape ?? EncodedShape(), rules: rules, depth: depth + 1, type: nil, failure: failure)
    }
}

private struct ShapeKeyedWriter<Key: CodingKey>: KeyedEncodingContainerProtocol {
    let encoder: ShapeEncoder

    var codingPath: [any CodingKey] { [] }

    private func set(_ name: String, _ make: () throws -> EncodedShape) throws {
        if let failure = encoder.failure.error { throw failure }
        do {
            let shape = try make()
            if encoder.type is any UnorderedCollection.Type, encoder.shape[name] != nil {
                throw WireError.repeatedName(name)
            }
            encoder.shape[name] = shape
        } catch {
            throw (error as? WireError)?.within(name) ?? error
        }
    }

    mutating func encodeNil(forKey key: Key) throws { try set(key.stringValue) { .null } }

    mutating func encode<Value: Encodable>(_ value: Value, forKey key: Key) throws {
        try set(key.stringValue) { try encoder.make(value) }
    }

    mutating func encodeIfPresent<Value: Encodable>(_ value: Value?, forKey key: Key) throws {
        if let value { try set(key.stringValue) { try encoder.make(value, isPresent: true) } }
    }

    mutating func nestedContainer<NestedKey: CodingKey>(
        keyedBy type: NestedKey.Type, forKey key: Key
    ) -> KeyedEncodingContainer<NestedKey> { nested(key).container(keyedBy: type) }

    mutating func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
        nested(key).unkeyedContainer()
    }

    private func nested(_ key: Key) -> ShapeEncoder {
        let name = key.stringValue
        if let shape = encoder.shape[name] { shape.close() } else { encoder.shape[name] = EncodedShape() }
        return encoder.nested(encoder.shape[name])
    }

    mutating func superEncoder() -> any Encoder { superEncoder(named: "super") }
    mutating func superEncoder(forKey key: Key) -> any Encoder { superEncoder(named: key.stringValue) }

    private func superEncoder(named name: String) -> ShapeEncoder {
        let shape = EncodedShape()
        encoder.shape[name] = shape
        return encoder.nested(shape)
    }
}

private struct ShapeListWriter: UnkeyedEncodingContainer {
    let encoder: ShapeEncoder

    var codingPath: [any CodingKey] { [] }
    var count: Int { encoder.shape.elements.count }

    mutating func encodeNil() throws { try append { .null } }
    mutating func encode<Value: Encodable>(_ value: Value) throws { try append { try encoder.make(value) } }

    private func append(_ make: () throws -> EncodedShape) throws {
        if let failure = encoder.failure.error { throw failure }
        do {
            encoder.shape.append(try make())
        } catch {
            throw (error as? WireError)?.within("\(count)") ?? error
        }
    }

    mutating func nestedContainer<NestedKey: CodingKey>(
        keyedBy type: NestedKey.Type
    ) -> KeyedEncodingContainer<NestedKey> { nested().container(keyedBy: type) }

    mutating func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer { nested().unkeyedContainer() }
    mutating func superEncoder() -> any Encoder { nested() }

    private func nested() -> ShapeEncoder {
        let shape = EncodedShape()
        encoder.shape.append(shape)
        return encoder.nested(shape)
    }
}

private struct ShapeSingleWriter: SingleValueEncodingContainer {
    let encoder: ShapeEncoder

    var codingPath: [any CodingKey] { [] }

    mutating func encodeNil() throws { try set { .null } }

    mutating func encode<Value: Encodable>(_ value: Value) throws {
        try set { try encoder.make(value, isPresent: encoder.type == Value?.self) }
    }

    private func set(_ make: () throws -> EncodedShape) throws {
        guard case .open = encoder.shape.content else { throw WireError.encodedAsTwo }
        encoder.shape.replace(by: try make())
    }
}
