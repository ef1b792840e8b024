import MeshFoundation
import MeshWire

/// Decodes samples from a table. The names of the type's fields select the columns.
///
/// Ignores columns that the type doesn't have. A field without a column counts as absent.
package final class SampleReader {
    private let table: SampleTable
    private let places: [String: Int]
    fileprivate var row = 0

    package init(_ table: SampleTable) {
        self.table = table
        places = Dictionary(
            table.columns.enumerated().map { ($1.name, $0) }, uniquingKeysWith: { first, _ in first })
    }

    /// - Throws: `DecodingError`.
    package func sample<Sample: Decodable>(_ index: Int, as type: Sample.Type = Sample.self) throws -> Sample {
        row = index
        let decoder = RowDecoder(reader: self, name: "", codingPath: [])
        return type == Date.self ? try decoder.value(Sample.self) : try Sample(from: decoder)
    }

    fileprivate func contains(_ name: String) -> Bool {
        if let place = places[name] { return table.presences[row] >> UInt64(place) & 1 == 1 }
        let prefix = name + "."
        return table.columns.indices.contains { place in
            table.columns[place].name.hasPrefix(prefix) && table.presences[row] >> UInt64(place) & 1 == 1
        }
    }

    /// Returns the field's value in the current row; nil if it is absent.
    fileprivate func cell(_ name: String) -> (kind: SeriesColumn.Kind, bits: UInt64)? {
        guard let place = places[name], table.presences[row] >> UInt64(place) & 1 == 1 else { return nil }
        return (table.columns[place].kind, table.cells[place][row])
    }
}

private struct RowDecoder: Decoder {
    let reader: SampleReader
    let name: String
    let codingPath: [any CodingKey]
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedDecodingContainer<Key> {
        KeyedDecodingContainer(RowFields<Key>(decoder: self))
    }

    func unkeyedContainer() throws -> any UnkeyedDecodingContainer { throw mismatch([Any].self, "a list") }
    func singleValueContainer() -> any SingleValueDecodingContainer { RowNumber(decoder: self) }

    func field(_ key: any CodingKey) -> RowDecoder {
        RowDecoder(
            reader: reader, name: name.isEmpty ? key.stringValue : "\(name).\(key.stringValue)",
            codingPath: codingPath + [key])
    }

    func mismatch(_ type: any Any.Type, _ what: String) -> DecodingError {
        .typeMismatch(type, .init(codingPath: codingPath, debugDescription: "a series can't hold \(what)"))
    }

    private func cell(_ type: any Any.Type) throws -> (kind: SeriesColumn.Kind, bits: UInt64) {
        guard let cell = reader.cell(name) else {
            throw DecodingError.valueNotFound(
                type, .init(codingPath: codingPath, debugDescription: "the sample has no '\(name)'"))
        }
        return cell
    }

    func bool() throws -> Bool {
        let cell = try cell(Bool.self)
        guard cell.kind == .bool else { throw mismatch(Bool.self, "\(cell.kind)") }
        return cell.bits != 0
    }

    func float() throws -> Double {
        let cell = try cell(Double.self)
        return switch cell.kind {
        case .float, .date: Double(bitPattern: cell.bits)
        case .integer: Double(Int64(bitPattern: cell.bits))
        case .unsigned: Double(cell.bits)
        case .bool: throw mismatch(Double.self, "a Boolean")
        }
    }

    func integer<Value: FixedWidthInteger>(_ type: Value.Type) throws -> Value {
        let cell = try cell(type)
        let value: Value? =
            switch cell.kind {
            case .integer: Value(exactly: Int64(bitPattern: cell.bits))
            case .unsigned: Value(exactly: cell.bits)
            case .float: Value(exactly: Double(bitPattern: cell.bits))
            case .bool, .date: nil
            }
        guard let value else { throw mismatch(type, "\(cell.kind)") }
        return value
    }

    func value<Value: Decodable>(_ type: Value.Type) throws -> Value {
        if type == Date.self, let date = Date(timeIntervalSinceReferenceDate: try float()) as? Value { return date }
        return try Value(from: self)
    }
}

private struct RowNumber: SingleValueDecodingContainer {
    let decoder: RowDecoder
    var codingPath: [any CodingKey] { decoder.codingPath }

    func decodeNil() -> Bool { !decoder.reader.contains(decoder.name) }
    func decode(_ type: String.Type) throws -> String { throw decoder.mismatch(type, "text") }
    func decode(_ type: Bool.Type) throws -> Bool { try decoder.bool() }
    func decode(_ type: Double.Type) throws -> Double { try decoder.float() }
    func decode(_ type: Float.Type) throws -> Float { Float(try decoder.float()) }
    func decode(_ type: Int.Type) throws -> Int { try decoder.integer(type) }
    func decode(_ type: Int8.Type) throws -> Int8 { try decoder.integer(type) }
    func decode(_ type: Int16.Type) throws -> Int16 { try decoder.integer(type) }
    func decode(_ type: Int32.Type) throws -> Int32 { try decoder.integer(type) }
    func decode(_ type: Int64.Type) throws -> Int64 { try decoder.integer(type) }
    func decode(_ type: UInt.Type) throws -> UInt { try decoder.integer(type) }
    func decode(_ type: UInt8.Type) throws -> UInt8 { try decoder.integer(type) }
    func decode(_ type: UInt16.Type) throws -> UInt16 { try decoder.integer(type) }
    func decode(_ type: UInt32.Type) throws -> UInt32 { try decoder.integer(type) }
    func decode(_ type: UInt64.Type) throws -> UInt64 { try decoder.integer(type) }
    func decode<Value: Decodable>(_ type: Value.Type) throws -> Value { try decoder.value(type) }
}

private struct RowFields<Key: CodingKey>: KeyedDecodingContainerProtocol {
    let decoder: RowDecoder
    var codingPath: [any CodingKey] { decoder.codingPath }
    var allKeys: [Key] { [] }

    func contains(_ key: Key) -> Bool { decoder.reader.contains(decoder.field(key).name) }
    func decodeNil(forKey key: Key) -> Bool { !contains(key) }
    func decode(_ type: String.Type, forKey key: Key) throws -> String {
        throw decoder.field(key).mismatch(type, "text")
    }
    func decode(_ type: Bool.Type, forKey key: Key) throws -> Bool { try decoder.field(key).bool() }
    func decode(_ type: Double.Type, forKey key: Key) throws -> Double { try decoder.field(key).float() }
    func decode(_ type: Float.Type, forKey key: Key) throws -> Float { Float(try decoder.field(key).float()) }
    func decode(_ type: Int.Type, forKey key: Key) throws -> Int { try decoder.field(key).integer(type) }
    func decode(_ type: Int8.Type, forKey key: Key) throws -> Int8 { try decoder.field(key).integer(type) }
    func decode(_ type: Int16.Type, forKey key: Key) throws -> Int16 { try decoder.field(key).integer(type) }
    func decode(_ type: Int32.Type, forKey key: Key) throws -> Int32 { try decoder.field(key).integer(type) }
    func decode(_ type: Int64.Type, forKey key: Key) throws -> Int64 { try decoder.field(key).integer(type) }
    func decode(_ type: UInt.Type, forKey key: Key) throws -> UInt { try decoder.field(key).integer(type) }
    func decode(_ type: UInt8.Type, forKey key: Key) throws -> UInt8 { try decoder.field(key).integer(type) }
    func decode(_ type: UInt16.Type, forKey key: Key) throws -> UInt16 { try decoder.field(key).integer(type) }
    func decode(_ type: UInt32.Type, forKey key: Key) throws -> UInt32 { try decoder.field(key).integer(type) }
    func decode(_ type: UInt64.Type, forKey key: Key) throws -> UInt64 { try decoder.field(key).integer(type) }
    func decode<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value {
        try decoder.field(key).value(type)
    }

    func nestedContainer<Nested: CodingKey>(
        keyedBy type: Nested.Type, forKey key: Key
    ) -> KeyedDecodingContainer<Nested> { decoder.field(key).container(keyedBy: type) }
    func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
        try decoder.field(key).unkeyedContainer()
    }
    func superDecoder() -> any Decoder {
        RowDecoder(
            reader: decoder.reader, name: decoder.name.isEmpty ? "super" : "\(decoder.name).super",
            codingPath: codingPath)
    }
    func superDecoder(forKey key: Key) -> any Decoder { decoder.field(key) }
}
