import Foundation

/// How many elements of a list in no order belong together.
enum JSONOrder: Int {
    case elements = 1
    /// Keys and values of a dictionary whose keys are not names.
    case pairs = 2

    /// Differs in each process, so that no value that came from elsewhere contains it. It stays in no bytes.
    private static let salt = UUID().uuidString

    var mark: String { "\(rawValue) \(Self.salt)" }

    /// - Parameter literal: in quotes.
    static func ofMark(_ literal: String) -> JSONOrder? {
        guard literal.utf8.count == salt.utf8.count + 4 else { return nil }
        return [.elements, .pairs].first { literal == "\"\($0.mark)\"" }
    }
}

/// A value that writes the same JSON, but that lists of elements in no order begin with a mark.
///
/// Sets write their elements, and dictionaries with other keys than names their keys, in the order of their hashes:
/// equal ones may write different bytes. What a type writes by itself in no certain order is not noticed.
struct MarkedJSON<Value: Encodable>: Encodable {
    let value: Value

    func encode(to encoder: any Encoder) throws {
        if knownToEncoders.contains(ObjectIdentifier(Value.self)) {
            var container = encoder.singleValueContainer()
            try container.encode(value)
        } else if let named = value as? any NamedJSONValues {
            // Its names are no coding keys to an encoder, whose strategy leaves them as they are.
            var container = encoder.singleValueContainer()
            try container.encode(named.marked)
        } else {
            let order = (Value.self as? any UnorderedJSON.Type)?.order
            try value.encode(to: MarkingEncoder(base: encoder, order: order))
        }
    }
}

/// Types that encoders write by themselves, and that contain nothing to mark.
private let knownToEncoders: Set<ObjectIdentifier> = [
    ObjectIdentifier(Bool.self), ObjectIdentifier(String.self), ObjectIdentifier(Double.self),
    ObjectIdentifier(Float.self), ObjectIdentifier(Int.self), ObjectIdentifier(Int8.self), ObjectIdentifier(Int16.self),
    ObjectIdentifier(Int32.self), ObjectIdentifier(Int64.self), ObjectIdentifier(UInt.self),
    ObjectIdentifier(UInt8.self), ObjectIdentifier(UInt16.self), ObjectIdentifier(UInt32.self),
    ObjectIdentifier(UInt64.self), ObjectIdentifier(Date.self), ObjectIdentifier(Data.self),
    ObjectIdentifier(URL.self), ObjectIdentifier(Decimal.self),
]

private protocol UnorderedJSON { static var order: JSONOrder { get } }
extension Set: UnorderedJSON { fileprivate static var order: JSONOrder { .elements } }
extension Dictionary: UnorderedJSON { fileprivate static var order: JSONOrder { .pairs } }

private protocol NamedJSONValues { var marked: any Encodable { get } }
extension Dictionary: NamedJSONValues where Key == String, Value: Encodable {
    fileprivate var marked: any Encodable { mapValues { MarkedJSON(value: $0) } }
}

private struct MarkingEncoder: Encoder {
    let base: any Encoder
    var order: JSONOrder?

    var codingPath: [any CodingKey] { base.codingPath }
    var userInfo: [CodingUserInfoKey: Any] { base.userInfo }

    func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
        KeyedEncodingContainer(MarkingFields(base: base.container(keyedBy: type)))
    }

    func unkeyedContainer() -> any UnkeyedEncodingContainer {
        var list = base.unkeyedContainer()
        if let order { try? list.encode(order.mark) }
        return MarkingList(base: list)
    }

    func singleValueContainer() -> any SingleValueEncodingContainer {
        MarkingSingle(base: base.singleValueContainer())
    }
}

private struct MarkingFields<Key: CodingKey>: KeyedEncodingContainerProtocol {
    var base: KeyedEncodingContainer<Key>
    var codingPath: [any CodingKey] { base.codingPath }

    mutating func encodeNil(forKey key: Key) throws { try base.encodeNil(forKey: key) }

    mutating func encode<Value: Encodable>(_ value: Value, forKey key: Key) throws {
        try base.encode(MarkedJSON(value: value), forKey: key)
    }

    mutating func nestedContainer<Nested: CodingKey>(
        keyedBy type: Nested.Type, forKey key: Key
    ) -> KeyedEncodingContainer<Nested> {
        KeyedEncodingContainer(MarkingFields<Nested>(base: base.nestedContainer(keyedBy: type, forKey: key)))
    }

    mutating func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
        MarkingList(base: base.nestedUnkeyedContainer(forKey: key))
    }

    mutating func superEncoder() -> any Encoder { MarkingEncoder(base: base.superEncoder()) }
    mutating func superEncoder(forKey key: Key) -> any Encoder { MarkingEncoder(base: base.superEncoder(forKey: key)) }
}

private struct MarkingList: UnkeyedEncodingContainer {
    var base: any UnkeyedEncodingContainer
    var codingPath: [any CodingKey] { base.codingPath }
    var count: Int { base.count }

    mutating func encodeNil() throws { try base.encodeNil() }
    mutating func encode<Value: Encodable>(_ value: Value) throws { try base.encode(MarkedJSON(value: value)) }

    mutating func nestedContainer<Nested: CodingKey>(keyedBy type: Nested.Type) -> KeyedEncodingContainer<Nested> {
        KeyedEncodingContainer(MarkingFields<Nested>(base: base.nestedContainer(keyedBy: type)))
    }

    mutating func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer {
        MarkingList(base: base.nestedUnkeyedContainer())
    }

    mutating func superEncoder() -> any Encoder { MarkingEncoder(base: base.superEncoder()) }
}

private struct MarkingSingle: SingleValueEncodingContainer {
    var base: any SingleValueEncodingContainer
    var codingPath: [any CodingKey] { base.codingPath }

    mutating func encodeNil() throws { try base.encodeNil() }
    mutating func encode<Value: Encodable>(_ value: Value) throws { try base.encode(MarkedJSON(value: value)) }
}
