#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A value that is being encoded: containers may be filled in any order, so it becomes an item at the end only.
final class CBORNode {
    private enum Content {
        case nothing
        case item(CBORValue)
        case list([CBORNode])
        case record([(name: String, node: CBORNode)])
    }

    private var content = Content.nothing
    private let depth: Int
    private let depthMax: Int

    init(depth: Int, depthMax: Int) {
        self.depth = depth
        self.depthMax = depthMax
    }

    /// The item; a value that encoded nothing is an empty map.
    func value() throws(WireError) -> CBORValue {
        if depth > depthMax { throw WireError(.tooDeep, "values are nested more than \(depthMax) levels deep") }
        switch content {
        case .nothing: return .map([])
        case .item(let item): return item
        case .list(let nodes):
            var items: [CBORValue] = []
            for node in nodes { items.append(try node.value()) }
            return .array(items)
        case .record(let fields):
            // A name that is encoded twice has the value of the last time.
            var places: [String: Int] = [:]
            var pairs: [CBORPair] = []
            for (name, node) in fields {
                let pair = CBORPair(key: .text(name), value: try node.value())
                if let place = places[name] {
                    pairs[place] = pair
                } else {
                    places[name] = pairs.count
                    pairs.append(pair)
                }
            }
            return .map(pairs)
        }
    }

    func set(_ item: CBORValue) { content = .item(item) }

    func encode<Value: Encodable>(_ value: Value) throws {
        switch value {
        case let date as Date: set(.float(date.timeIntervalSinceReferenceDate))
        case let id as UUID:
            set(.tagged(CBORTag.uuid, .bytes(withUnsafeBytes(of: id.uuid) { [UInt8]($0) })))
        case let data as Data: set(.bytes([UInt8](data)))
        default:
            guard depth <= depthMax else {
                throw WireError(.tooDeep, "values are nested more than \(depthMax) levels deep")
            }
            try value.encode(to: CBOREncoder(node: self))
            if let collection = value as? any CBORUnordered { collection.sort(self) }
        }
    }

    // MARK: - Containers

    func makeRecord() { if case .record = content {} else { content = .record([]) } }
    func makeList() { if case .list = content {} else { content = .list([]) } }

    func field(_ name: String) -> CBORNode {
        let node = CBORNode(depth: depth + 1, depthMax: depthMax)
        if case .record(var fields) = content {
            content = .nothing
            fields.append((name, node))
            content = .record(fields)
        }
        return node
    }

    func element() -> CBORNode {
        let node = CBORNode(depth: depth + 1, depthMax: depthMax)
        if case .list(var nodes) = content {
            content = .nothing
            nodes.append(node)
            content = .list(nodes)
        }
        return node
    }

    var count: Int { if case .list(let nodes) = content { nodes.count } else { 0 } }

    /// Sorts a list's elements, `width` at a time, by the bytes of the first of each.
    func sortElements(width: Int) {
        guard case .list(let nodes) = content else { return }
        let groups = stride(from: 0, to: nodes.count, by: width).map { start in
            let group = Array(nodes[start..<min(start + width, nodes.count)])
            return (key: (try? group[0].value().encoded()) ?? [], group: group)
        }
        content = .list(groups.sorted { $0.key.lexicographicallyPrecedes($1.key) }.flatMap(\.group))
    }
}

/// Sets, and dictionaries with keys that are not names: their order in memory differs between equal values.
private protocol CBORUnordered { func sort(_ node: CBORNode) }

extension Set: CBORUnordered {
    fileprivate func sort(_ node: CBORNode) { node.sortElements(width: 1) }
}

extension Dictionary: CBORUnordered {
    fileprivate func sort(_ node: CBORNode) { node.sortElements(width: 2) }
}

// MARK: - Encoder and containers

struct CBOREncoder: Encoder {
    let node: CBORNode
    var codingPath: [any CodingKey] { [] }
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
        node.makeRecord()
        return KeyedEncodingContainer(CBORKeyedWriter(node: node))
    }

    func unkeyedContainer() -> any UnkeyedEncodingContainer {
        node.makeList()
        return CBORListWriter(node: node)
    }

    func singleValueContainer() -> any SingleValueEncodingContainer { CBORSingleWriter(node: node) }
}

struct CBORKeyedWriter<Key: CodingKey>: KeyedEncodingContainerProtocol {
    let node: CBORNode
    var codingPath: [any CodingKey] { [] }

    func nestedContainer<NestedKey: CodingKey>(
        keyedBy type: NestedKey.Type, forKey key: Key
    ) -> KeyedEncodingContainer<NestedKey> {
        CBOREncoder(node: node.field(key.stringValue)).container(keyedBy: type)
    }

    func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
        CBOREncoder(node: node.field(key.stringValue)).unkeyedContainer()
    }

    func superEncoder() -> any Encoder { CBOREncoder(node: node.field("super")) }
    func superEncoder(forKey key: Key) -> any Encoder { CBOREncoder(node: node.field(key.stringValue)) }

    func encodeNil(forKey key: Key) { node.field(key.stringValue).set(.null) }
    func encode<Value: Encodable>(_ value: Value, forKey key: Key) throws {
        try node.field(key.stringValue).encode(value)
    }
    func encode(_ value: Bool, forKey key: Key) { node.field(key.stringValue).set(.simple(value ? 21 : 20)) }
    func encode(_ value: String, forKey key: Key) { node.field(key.stringValue).set(.text(value)) }
    func encode(_ value: Double, forKey key: Key) { node.field(key.stringValue).set(.float(value)) }
    func encode(_ value: Float, forKey key: Key) { node.field(key.stringValue).set(.float(Double(value))) }
    func encode(_ value: Int, forKey key: Key) { node.field(key.stringValue).set(CBORValue(value)) }
    func encode(_ value: Int8, forKey key: Key) { node.field(key.stringValue).set(CBORValue(value)) }
    func encode(_ value: Int16, forKey key: Key) { node.field(key.stringValue).set(CBORValue(value)) }
    func encode(_ value: Int32, forKey key: Key) { node.field(key.stringValue).set(CBORValue(value)) }
    func encode(_ value: Int64, forKey key: Key) { node.field(key.stringValue).set(CBORValue(value)) }
    func encode(_ value: UInt, forKey key: Key) { node.field(key.stringValue).set(CBORValue(value)) }
    func encode(_ value: UInt8, forKey key: Key) { node.field(key.stringValue).set(CBORValue(value)) }
    func encode(_ value: UInt16, forKey key: Key) { node.field(key.stringValue).set(CBORValue(value)) }
    func encode(_ value: UInt32, forKey key: Key) { node.field(key.stringValue).set(CBORValue(value)) }
    func encode(_ value: UInt64, forKey key: Key) { node.field(key.stringValue).set(CBORValue(value)) }

    @available(macOS 15, iOS 18, watchOS 11, tvOS 18, visionOS 2, *)
    func encode(_ value: Int128, forKey key: Key) { node.field(key.stringValue).set(CBORValue(wide: value)) }

    @available(macOS 15, iOS 18, watchOS 11, tvOS 18, visionOS 2, *)
    func encode(_ value: UInt128, forKey key: Key) { node.field(key.stringValue).set(CBORValue(wide: value)) }
}

struct CBORListWriter: UnkeyedEncodingContainer {
    let node: CBORNode
    var codingPath: [any CodingKey] { [] }
    var count: Int { node.count }

    func nestedContainer<NestedKey: CodingKey>(keyedBy type: NestedKey.Type) -> KeyedEncodingContainer<NestedKey> {
        CBOREncoder(node: node.element()).container(keyedBy: type)
    }

    func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer {
        CBOREncoder(node: node.element()).unkeyedContainer()
    }

    func superEncoder() -> any Encoder { CBOREncoder(node: node.element()) }

    func encodeNil() { node.element().set(.null) }
    func encode<Value: Encodable>(_ value: Value) throws { try node.element().encode(value) }
    func encode(_ value: Bool) { node.element().set(.simple(value ? 21 : 20)) }
    func encode(_ value: String) { node.element().set(.text(value)) }
    func encode(_ value: Double) { node.element().set(.float(value)) }
    func encode(_ value: Float) { node.element().set(.float(Double(value))) }
    func encode(_ value: Int) { node.element().set(CBORValue(value)) }
    func encode(_ value: Int8) { node.element().set(CBORValue(value)) }
    func encode(_ value: Int16) { node.element().set(CBORValue(value)) }
    func encode(_ value: Int32) { node.element().set(CBORValue(value)) }
    func encode(_ value: Int64) { node.element().set(CBORValue(value)) }
    func encode(_ value: UInt) { node.element().set(CBORValue(value)) }
    func encode(_ value: UInt8) { node.element().set(CBORValue(value)) }
    func encode(_ value: UInt16) { node.element().set(CBORValue(value)) }
    func encode(_ value: UInt32) { node.element().set(CBORValue(value)) }
    func encode(_ value: UInt64) { node.element().set(CBORValue(value)) }

    @available(macOS 15, iOS 18, watchOS 11, tvOS 18, visionOS 2, *)
    func encode(_ value: Int128) { node.element().set(CBORValue(wide: value)) }

    @available(macOS 15, iOS 18, watchOS 11, tvOS 18, visionOS 2, *)
    func encode(_ value: UInt128) { node.element().set(CBORValue(wide: value)) }
}

struct CBORSingleWriter: SingleValueEncodingContainer {
    let node: CBORNode
    var codingPath: [any CodingKey] { [] }

    func encodeNil() { node.set(.null) }
    func encode<Value: Encodable>(_ value: Value) throws { try node.encode(value) }
    func encode(_ value: Bool) { node.set(.simple(value ? 21 : 20)) }
    func encode(_ value: String) { node.set(.text(value)) }
    func encode(_ value: Double) { node.set(.float(value)) }
    func encode(_ value: Float) { node.set(.float(Double(value))) }
    func encode(_ value: Int) { node.set(CBORValue(value)) }
    func encode(_ value: Int8) { node.set(CBORValue(value)) }
    func encode(_ value: Int16) { node.set(CBORValue(value)) }
    func encode(_ value: Int32) { node.set(CBORValue(value)) }
    func encode(_ value: Int64) { node.set(CBORValue(value)) }
    func encode(_ value: UInt) { node.set(CBORValue(value)) }
    func encode(_ value: UInt8) { node.set(CBORValue(value)) }
    func encode(_ value: UInt16) { node.set(CBORValue(value)) }
    func encode(_ value: UInt32) { node.set(CBORValue(value)) }
    func encode(_ value: UInt64) { node.set(CBORValue(value)) }

    @available(macOS 15, iOS 18, watchOS 11, tvOS 18, visionOS 2, *)
    func encode(_ value: Int128) { node.set(CBORValue(wide: value)) }

    @available(macOS 15, iOS 18, watchOS 11, tvOS 18, visionOS 2, *)
    func encode(_ value: UInt128) { node.set(CBORValue(wide: value)) }
}

// MARK: - Integers

extension CBORValue {
    init<Value: FixedWidthInteger>(_ value: Value) {
        self = value < 0 ? .negative(UInt64(truncatingIfNeeded: ~value)) : .unsigned(UInt64(truncatingIfNeeded: value))
    }

    /// A bignum when 64 bits are not enough.
    init<Value: FixedWidthInteger>(wide value: Value) {
        let magnitude = value < 0 ? ~value : value
        if let small = UInt64(exactly: magnitude) {
            self = value < 0 ? .negative(small) : .unsigned(small)
        } else {
            let bytes = withUnsafeBytes(of: magnitude.bigEndian) { [UInt8]($0.drop { $0 == 0 }) }
            self = .tagged(value < 0 ? CBORTag.negativeBignum : CBORTag.positiveBignum, .bytes(bytes))
        }
    }
}
