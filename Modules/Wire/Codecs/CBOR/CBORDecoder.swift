#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// An item that is being decoded.
struct CBORDecoder: Decoder {
    let value: CBORValue
    let codingPath: [any CodingKey]
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
        guard case .map(let pairs) = value else { throw mismatch("a map") }
        var fields: [String: CBORValue] = [:]
        for pair in pairs { if case .text(let name) = pair.key { fields[name] = pair.value } }
        return KeyedDecodingContainer(CBORKeyedReader(fields: fields, codingPath: codingPath))
    }

    func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
        switch value {
        case .array(let items): return CBORListReader(items: items, codingPath: codingPath)
        case .bytes(let bytes):
            return CBORListReader(items: bytes.map { .unsigned(UInt64($0)) }, codingPath: codingPath)
        default: throw mismatch("an array")
        }
    }

    func singleValueContainer() -> any SingleValueDecodingContainer { CBORSingleReader(decoder: self) }

    // MARK: - Values

    var isNil: Bool { value == .null || value == .undefined }

    func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
        if type == Date.self, let value = Date(timeIntervalSinceReferenceDate: try double()) as? Value { return value }
        if type == UUID.self, let value = try uuid() as? Value { return value }
        if type == Data.self, let value = try data() as? Value { return value }
        return try Value(from: self)
    }

    func bool() throws -> Bool {
        guard value == .true || value == .false else { throw mismatch("a Boolean") }
        return value == .true
    }

    func string() throws -> String {
        guard case .text(let text) = value else { throw mismatch("a text") }
        return text
    }

    func double() throws -> Double {
        switch value {
        case .float(let number): return number
        case .unsigned, .negative:
            guard let exact = Double(exactly: try integer(Int64.self)) else { throw outOfRange(Double.self) }
            return exact
        default: throw mismatch("a number")
        }
    }

    func float() throws -> Float {
        let wide = try double()
        let narrow = Float(wide)
        if narrow.isInfinite, wide.isFinite { throw outOfRange(Float.self) }
        return narrow
    }

    func integer<Value: FixedWidthInteger>(_ type: Value.Type = Value.self) throws -> Value {
        switch value {
        case .unsigned(let number): if let exact = Value(exactly: number) { return exact }
        case .negative(let number): if Value.isSigned, let exact = Value(exactly: number) { return ~exact }
        case .tagged(CBORTag.positiveBignum, .bytes(let bytes)): if let exact: Value = magnitude(bytes) { return exact }
        case .tagged(CBORTag.negativeBignum, .bytes(let bytes)):
            if Value.isSigned, let exact: Value = magnitude(bytes) { return ~exact }
        default: throw mismatch("an integer")
        }
        throw outOfRange(type)
    }

    private func magnitude<Value: FixedWidthInteger>(_ bytes: [UInt8]) -> Value? {
        var result: Value = 0
        for byte in bytes.drop(while: { $0 == 0 }) {
            let (shifted, overflow) = result.multipliedReportingOverflow(by: Value(exactly: 256) ?? 0)
            if overflow || Value.bitWidth <= 8 && result != 0 { return nil }
            let (sum, carry) = shifted.addingReportingOverflow(Value(truncatingIfNeeded: byte))
            if carry || sum < 0 { return nil }
            result = sum
        }
        return result
    }

    private func uuid() throws -> UUID {
        if case .text(let text) = value, let id = UUID(uuidString: text) { return id }
        guard case .tagged(CBORTag.uuid, .bytes(let bytes)) = value, bytes.count == 16 else { throw mismatch("a UUID") }
        return UUID(uuid: bytes.withUnsafeBytes { $0.loadUnaligned(as: uuid_t.self) })
    }

    private func data() throws -> Data {
        guard case .bytes(let bytes) = value else { return Data(try [UInt8](from: self)) }
        return Data(bytes)
    }

    // MARK: - Errors

    func mismatch(_ wanted: String) -> WireError {
        located(WireError(.typeMismatch, "\(wanted) was expected, found \(value.typeName)"))
    }

    private func outOfRange(_ type: Any.Type) -> WireError {
        located(WireError(.invalidValue, "the number is not a value of \(type)"))
    }

    private func located(_ error: WireError) -> WireError {
        codingPath.reversed().reduce(error) { $0.within($1.stringValue) }
    }
}

extension CBORValue {
    fileprivate var typeName: String {
        switch self {
        case .unsigned, .negative: "an integer"
        case .bytes: "bytes"
        case .text: "a text"
        case .array: "an array"
        case .map: "a map"
        case .tagged(let tag, _): "tag \(tag)"
        case .simple(20), .simple(21): "a Boolean"
        case .simple(22): "null"
        case .simple(let number): "simple value \(number)"
        case .float: "a floating-point number"
        }
    }
}

// MARK: - Containers

struct CBORKeyedReader<Key: CodingKey>: KeyedDecodingContainerProtocol {
    let fields: [String: CBORValue]
    let codingPath: [any CodingKey]

    var allKeys: [Key] { fields.keys.sorted().compactMap { Key(stringValue: $0) } }
    func contains(_ key: Key) -> Bool { fields[key.stringValue] != nil }

    private func field(_ key: any CodingKey) throws -> CBORDecoder {
        guard let value = fields[key.stringValue] else {
            throw codingPath.reversed().reduce(WireError.missing(key)) { $0.within($1.stringValue) }
        }
        return CBORDecoder(value: value, codingPath: codingPath + [key])
    }

    func nestedContainer<NestedKey: CodingKey>(
        keyedBy type: NestedKey.Type, forKey key: Key
    ) throws -> KeyedDecodingContainer<NestedKey> {
        try field(key).container(keyedBy: type)
    }

    func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
        try field(key).unkeyedContainer()
    }

    func superDecoder() throws -> any Decoder { try field(CBORKey(stringValue: "super")) }
    func superDecoder(forKey key: Key) throws -> any Decoder { try field(key) }

    func decodeNil(forKey key: Key) throws -> Bool { try field(key).isNil }
    func decode<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value { try field(key).decode(type) }
    func decode(_ type: Bool.Type, forKey key: Key) throws -> Bool { try field(key).bool() }
    func decode(_ type: String.Type, forKey key: Key) throws -> String { try field(key).string() }
    func decode(_ type: Double.Type, forKey key: Key) throws -> Double { try field(key).double() }
    func decode(_ type: Float.Type, forKey key: Key) throws -> Float { try field(key).float() }
    func decode(_ type: Int.Type, forKey key: Key) throws -> Int { try field(key).integer() }
    func decode(_ type: Int8.Type, forKey key: Key) throws -> Int8 { try field(key).integer() }
    func decode(_ type: Int16.Type, forKey key: Key) throws -> Int16 { try field(key).integer() }
    func decode(_ type: Int32.Type, forKey key: Key) throws -> Int32 { try field(key).integer() }
    func decode(_ type: Int64.Type, forKey key: Key) throws -> Int64 { try field(key).integer() }
    func decode(_ type: UInt.Type, forKey key: Key) throws -> UInt { try field(key).integer() }
    func decode(_ type: UInt8.Type, forKey key: Key) throws -> UInt8 { try field(key).integer() }
    func decode(_ type: UInt16.Type, forKey key: Key) throws -> UInt16 { try field(key).integer() }
    func decode(_ type: UInt32.Type, forKey key: Key) throws -> UInt32 { try field(key).integer() }
    func decode(_ type: UInt64.Type, forKey key: Key) throws -> UInt64 { try field(key).integer() }

    @available(macOS 15, iOS 18, watchOS 11, tvOS 18, visionOS 2, *)
    func decode(_ type: Int128.Type, forKey key: Key) throws -> Int128 { try field(key).integer() }

    @available(macOS 15, iOS 18, watchOS 11, tvOS 18, visionOS 2, *)
    func decode(_ type: UInt128.Type, forKey key: Key) throws -> UInt128 { try field(key).integer() }
}

struct CBORKey: CodingKey {
    let stringValue: String
    let intValue: Int?

    init(stringValue: String) {
        self.stringValue = stringValue
        intValue = nil
    }

    init(intValue: Int) {
        stringValue = "\(intValue)"
        self.intValue = intValue
    }
}

struct CBORListReader: UnkeyedDecodingContainer {
    let items: [CBORValue]
    let codingPath: [any CodingKey]
    private(set) var currentIndex = 0

    init(items: [CBORValue], codingPath: [any CodingKey]) {
        self.items = items
        self.codingPath = codingPath
    }

    var count: Int? { items.count }
    var isAtEnd: Bool { currentIndex >= items.count }

    private func next() throws -> CBORDecoder {
        let path = codingPath + [CBORKey(intValue: currentIndex)]
        guard currentIndex < items.count else {
            throw path.reversed().reduce(WireError(.truncated, "the array has \(items.count) elements")) {
                $0.within($1.stringValue)
            }
        }
        return CBORDecoder(value: items[currentIndex], codingPath: path)
    }

    private mutating func advance<Result>(_ body: (CBORDecoder) throws -> Result) throws -> Result {
        let result = try body(next())
        currentIndex += 1
        return result
    }

    mutating func nestedContainer<NestedKey: CodingKey>(
        keyedBy type: NestedKey.Type
    ) throws -> KeyedDecodingContainer<NestedKey> {
        try advance { try $0.container(keyedBy: type) }
    }

    mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
        try advance { try $0.unkeyedContainer() }
    }

    mutating func superDecoder() throws -> any Decoder { try advance { $0 } }

    mutating func decodeNil() throws -> Bool {
        guard try next().isNil else { return false }
        currentIndex += 1
        return true
    }

    mutating func decode<Value: Decodable>(_ type: Value.Type) throws -> Value { try advance { try $0.decode(type) } }
    mutating func decode(_ type: Bool.Type) throws -> Bool { try advance { try $0.bool() } }
    mutating func decode(_ type: String.Type) throws -> String { try advance { try $0.string() } }
    mutating func decode(_ type: Double.Type) throws -> Double { try advance { try $0.double() } }
    mutating func decode(_ type: Float.Type) throws -> Float { try advance { try $0.float() } }
    mutating func decode(_ type: Int.Type) throws -> Int { try advance { try $0.integer() } }
    mutating func decode(_ type: Int8.Type) throws -> Int8 { try advance { try $0.integer() } }
    mutating func decode(_ type: Int16.Type) throws -> Int16 { try advance { try $0.integer() } }
    mutating func decode(_ type: Int32.Type) throws -> Int32 { try advance { try $0.integer() } }
    mutating func decode(_ type: Int64.Type) throws -> Int64 { try advance { try $0.integer() } }
    mutating func decode(_ type: UInt.Type) throws -> UInt { try advance { try $0.integer() } }
    mutating func decode(_ type: UInt8.Type) throws -> UInt8 { try advance { try $0.integer() } }
    mutating func decode(_ type: UInt16.Type) throws -> UInt16 { try advance { try $0.integer() } }
    mutating func decode(_ type: UInt32.Type) throws -> UInt32 { try advance { try $0.integer() } }
    mutating func decode(_ type: UInt64.Type) throws -> UInt64 { try advance { try $0.integer() } }

    @available(macOS 15, iOS 18, watchOS 11, tvOS 18, visionOS 2, *)
    mutating func decode(_ type: Int128.Type) throws -> Int128 { try advance { try $0.integer() } }

    @available(macOS 15, iOS 18, watchOS 11, tvOS 18, visionOS 2, *)
    mutating func decode(_ type: UInt128.Type) throws -> UInt128 { try advance { try $0.integer() } }
}

struct CBORSingleReader: SingleValueDecodingContainer {
    let decoder: CBORDecoder
    var codingPath: [any CodingKey] { decoder.codingPath }

    func decodeNil() -> Bool { decoder.isNil }
    func decode<Value: Decodable>(_ type: Value.Type) throws -> Value { try decoder.decode(type) }
    func decode(_ type: Bool.Type) throws -> Bool { try decoder.bool() }
    func decode(_ type: String.Type) throws -> String { try decoder.string() }
    func decode(_ type: Double.Type) throws -> Double { try decoder.double() }
    func decode(_ type: Float.Type) throws -> Float { try decoder.float() }
    func decode(_ type: Int.Type) throws -> Int { try decoder.integer() }
    func decode(_ type: Int8.Type) throws -> Int8 { try decoder.integer() }
    func decode(_ type: Int16.Type) throws -> Int16 { try decoder.integer() }
    func decode(_ type: Int32.Type) throws -> Int32 { try decoder.integer() }
    func decode(_ type: Int64.Type) throws -> Int64 { try decoder.integer() }
    func decode(_ type: UInt.Type) throws -> UInt { try decoder.integer() }
    func decode(_ type: UInt8.Type) throws -> UInt8 { try decoder.integer() }
    func decode(_ type: UInt16.Type) throws -> UInt16 { try decoder.integer() }
    func decode(_ type: UInt32.Type) throws -> UInt32 { try decoder.integer() }
    func decode(_ type: UInt64.Type) throws -> UInt64 { try decoder.integer() }

    @available(macOS 15, iOS 18, watchOS 11, tvOS 18, visionOS 2, *)
    func decode(_ type: Int128.Type) throws -> Int128 { try decoder.integer() }

    @available(macOS 15, iOS 18, watchOS 11, tvOS 18, visionOS 2, *)
    func decode(_ type: UInt128.Type) throws -> UInt128 { try decoder.integer() }
}
