import Foundation

/// The number of consecutive elements that belong together in an unordered list.
enum JSONOrder: Int {
    case elements = 1
    /// A key and its value, of a dictionary whose keys can't be names of members.
    case pairs = 2

    /// Random in each process, so no received value contains a mark. `JSONValue` removes marks, so no stored or sent
    /// bytes contain one.
    private static let salt = UUID().uuidString

    var mark: String { "\(rawValue) \(Self.salt)" }

    /// - Parameter literal: a string in its quotes.
    static func ofMark(_ literal: String) -> JSONOrder? {
        guard literal.utf8.count == salt.utf8.count + 4 else { return nil }
        return [.elements, .pairs].first { literal == "\"\($0.mark)\"" }
    }
}

/// Encodes a value so that each unordered list begins with a mark.
///
/// Sets write their elements in the order of their hashes, and so do dictionaries whose keys aren't names. So equal values may
/// have different bytes. A type that writes a list of its own in random order isn't recognized.
struct MarkedJSON<Value: Encodable>: Encodable {
    let value: Value

    func encode(to encoder: any Encoder) throws {
        if knownToEncoders.contains(ObjectIdentifier(Value.self)) {
            var container = encoder.singleValueContainer()
            try container.encode(value)
        } else if let named = value as? any NamedJSONValues {
            // These names aren't coding keys, so the encoder's key strategy leaves them as they are.
            var container = encoder.singleValueContainer()
            try container.encode(named.marked)
        } else {
            let order = (Value.self as? any UnorderedJSON.Type)?.order
            try value.encode(to: MarkingEncoder(base: encoder, order: order))
        }
    }
}

/// Types that encoders handle themselves, and that contain nothing to mark.
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
