import MeshFoundation
import MeshWire

extension SampleRow {
    /// Creates a row from a sample's numbers, in the order in which it encodes them.
    ///
    /// - Parameter columns: the columns of the previous sample, which are most likely the same.
    /// - Throws: `WireError.Code.encodingFailed` for values other than numbers, dates and Booleans; `oversized` beyond
    ///   `SeriesLimits`.
    package init(_ sample: some Encodable, like columns: [SeriesColumn] = []) throws {
        let sink = RowSink(expected: columns)
        if let date = sample as? Date {
            sink.put(date.timeIntervalSinceReferenceDate.bitPattern, .date, "", "")
        } else {
            try sample.encode(to: RowEncoder(sink: sink, prefix: "", key: "", codingPath: []))
        }
        if let failure = sink.failure { throw failure }
        guard !sink.row.columns.isEmpty else {
            throw WireError(.encodingFailed, "a sample needs at least one number, date or Boolean")
        }
        self = sink.row
        self.columns = try self.columns.checked()
    }
}

/// Collects a row's numbers. Builds column names only if the columns differ from the previous sample's.
private final class RowSink {
    private let expected: [SeriesColumn]
    private var isAsExpected = true
    private var count = 0
    private var found: [SeriesColumn] = []
    private var bits: [UInt64] = []
    private var presence: UInt64 = 0
    var failure: WireError?

    init(expected: [SeriesColumn]) {
        self.expected = expected
        bits.reserveCapacity(expected.count)
    }

    var row: SampleRow {
        SampleRow(
            columns: isAsExpected && count == expected.count ? expected : columnsSoFar, bits: bits, presence: presence)
    }

    private var columnsSoFar: [SeriesColumn] { isAsExpected ? Array(expected.prefix(count)) : found }

    func put(_ value: UInt64?, _ kind: SeriesColumn.Kind, _ prefix: String, _ key: String) {
        guard count < SeriesLimits.columnsMax else {
            return fail(WireError(.oversized, "a sample has more than \(SeriesLimits.columnsMax) numbers"))
        }
        if isAsExpected, count >= expected.count || !expected[count].is(kind, prefix, key) {
            found = columnsSoFar
            isAsExpected = false
        }
        if !isAsExpected { found.append(SeriesColumn(name: joined(prefix, key), kind: kind)) }
        if value != nil { presence |= 1 << UInt64(count) }
        bits.append(value ?? 0)
        count += 1
    }

    func fail(_ error: WireError) { failure = failure ?? error }

    func refuse(_ what: String, _ prefix: String, _ key: String) -> WireError {
        let name = joined(prefix, key)
        let error = WireError(
            .encodingFailed,
            "\(name.isEmpty ? "the sample" : "'\(name)'") is \(what); a series holds numbers, dates and Booleans")
        fail(error)
        return error
    }
}

extension SeriesColumn {
    fileprivate func `is`(_ kind: Kind, _ prefix: String, _ key: String) -> Bool {
        guard self.kind == kind else { return false }
        return prefix.isEmpty
            ? name == key
            : name.utf8.count == prefix.utf8.count + 1 + key.utf8.count
                && name.hasPrefix(prefix) && name.hasSuffix(key)
    }
}

private func joined(_ prefix: String, _ key: String) -> String { prefix.isEmpty ? key : "\(prefix).\(key)" }

/// Encodes a sample or one of its fields.
private struct RowEncoder: Encoder {
    let sink: RowSink
    let prefix: String
    let key: String
    let codingPath: [any CodingKey]
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
        KeyedEncodingContainer(RowFields<Key>(sink: sink, prefix: joined(prefix, key), codingPath: codingPath))
    }

    func unkeyedContainer() -> any UnkeyedEncodingContainer {
        _ = sink.refuse("a list", prefix, key)
        return RefusedList(sink: sink, codingPath: codingPath)
    }

    func singleValueContainer() -> any SingleValueEncodingContainer { RowNumber(encoder: self) }
}

private struct RowNumber: SingleValueEncodingContainer {
    let encoder: RowEncoder
    var codingPath: [any CodingKey] { encoder.codingPath }

    private func put(_ bits: UInt64, _ kind: SeriesColumn.Kind) {
        encoder.sink.put(bits, kind, encoder.prefix, encoder.key)
    }

    func encodeNil() throws { throw encoder.sink.refuse("nil without a type", encoder.prefix, encoder.key) }
    func encode(_ value: String) throws { throw encoder.sink.refuse("text", encoder.prefix, encoder.key) }
    func encode(_ value: Bool) { put(value ? 1 : 0, .bool) }
    func encode(_ value: Double) { put(value.bitPattern, .float) }
    func encode(_ value: Float) { put(Double(value).bitPattern, .float) }
    func encode(_ value: Int) { put(UInt64(bitPattern: Int64(value)), .integer) }
    func encode(_ value: Int8) { put(UInt64(bitPattern: Int64(value)), .integer) }
    func encode(_ value: Int16) { put(UInt64(bitPattern: Int64(value)), .integer) }
    func encode(_ value: Int32) { put(UInt64(bitPattern: Int64(value)), .integer) }
    func encode(_ value: Int64) { put(UInt64(bitPattern: value), .integer) }
    func encode(_ value: UInt) { put(UInt64(value), .unsigned) }
    func encode(_ value: UInt8) { put(UInt64(value), .unsigned) }
    func encode(_ value: UInt16) { put(UInt64(value), .unsigned) }
    func encode(_ value: UInt32) { put(UInt64(value), .unsigned) }
    func encode(_ value: UInt64) { put(value, .unsigned) }
    func encode<Value: Encodable>(_ value: Value) throws {
        if let date = value as? Date { return put(date.timeIntervalSinceReferenceDate.bitPattern, .date) }
        try value.encode(to: encoder)
    }
}

private struct RowFields<Key: CodingKey>: KeyedEncodingContainerProtocol {
    let sink: RowSink
    let prefix: String
    let codingPath: [any CodingKey]

    private func put(_ bits: UInt64?, _ kind: SeriesColumn.Kind, _ key: Key) {
        sink.put(bits, kind, prefix, key.stringValue)
    }
    private func put(_ value: (some SignedInteger & FixedWidthInteger)?, _ key: Key) {
        put(value.map { UInt64(bitPattern: Int64($0)) }, .integer, key)
    }
    private func put(_ value: (some UnsignedInteger & FixedWidthInteger)?, _ key: Key) {
        put(value.map { UInt64($0) }, .unsigned, key)
    }

    func encodeNil(forKey key: Key) throws { throw sink.refuse("nil without a type", prefix, key.stringValue) }
    func encode(_ value: String, forKey key: Key) throws { throw sink.refuse("text", prefix, key.stringValue) }
    func encode(_ value: Bool, forKey key: Key) { put(value ? 1 : 0, .bool, key) }
    func encode(_ value: Double, forKey key: Key) { put(value.bitPattern, .float, key) }
    func encode(_ value: Float, forKey key: Key) { put(Double(value).bitPattern, .float, key) }
    func encode(_ value: Int, forKey key: Key) { put(value, key) }
    func encode(_ value: Int8, forKey key: Key) { put(value, key) }
    func encode(_ value: Int16, forKey key: Key) { put(value, key) }
    func encode(_ value: Int32, forKey key: Key) { put(value, key) }
    func encode(_ value: Int64, forKey key: Key) { put(value, key) }
    func encode(_ value: UInt, forKey key: Key) { put(value, key) }
    func encode(_ value: UInt8, forKey key: Key) { put(value, key) }
    func encode(_ value: UInt16, forKey key: Key) { put(value, key) }
    func encode(_ value: UInt32, forKey key: Key) { put(value, key) }
    func encode(_ value: UInt64, forKey key: Key) { put(value, key) }
    func encode<Value: Encodable>(_ value: Value, forKey key: Key) throws {
        if let date = value as? Date { return put(date.timeIntervalSinceReferenceDate.bitPattern, .date, key) }
        try value.encode(
            to: RowEncoder(sink: sink, prefix: prefix, key: key.stringValue, codingPath: codingPath + [key]))
    }

    // An absent value also has a column, so samples with and without it share a series.
    func encodeIfPresent(_ value: String?, forKey key: Key) throws {
        throw sink.refuse("text", prefix, key.stringValue)
    }
    func encodeIfPresent(_ value: Bool?, forKey key: Key) { put(value.map { $0 ? 1 : 0 }, .bool, key) }
    func encodeIfPresent(_ value: Double?, forKey key: Key) { put(value?.bitPattern, .float, key) }
    func encodeIfPresent(_ value: Float?, forKey key: Key) { put(value.map { Double($0).bitPattern }, .float, key) }
    func encodeIfPresent(_ value: Int?, forKey key: Key) { put(value, key) }
    func encodeIfPresent(_ value: Int8?, forKey key: Key) { put(value, key) }
    func encodeIfPresent(_ value: Int16?, forKey key: Key) { put(value, key) }
    func encodeIfPresent(_ value: Int32?, forKey key: Key) { put(value, key) }
    func encodeIfPresent(_ value: Int64?, forKey key: Key) { put(value, key) }
    func encodeIfPresent(_ value: UInt?, forKey key: Key) { put(value, key) }
    func encodeIfPresent(_ value: UInt8?, forKey key: Key) { put(value, key) }
    func encodeIfPresent(_ value: UInt16?, forKey key: Key) { put(value, key) }
    func encodeIfPresent(_ value: UInt32?, forKey key: Key) { put(value, key) }
    func encodeIfPresent(_ value: UInt64?, forKey key: Key) { put(value, key) }
    func encodeIfPresent<Value: Encodable>(_ value: Value?, forKey key: Key) throws {
        if Value.self == Date.self {
            return put((value as? Date)?.timeIntervalSinceReferenceDate.bitPattern, .date, key)
        }
        // An absent struct's columns are unknown, so a sample without it goes into another series.
        if let value { try encode(value, forKey: key) }
    }

    func nestedContainer<Nested: CodingKey>(
        keyedBy type: Nested.Type, forKey key: Key
    ) -> KeyedEncodingContainer<Nested> {
        KeyedEncodingContainer(
            RowFields<Nested>(
                sink: sink, prefix: joined(prefix, key.stringValue), codingPath: codingPath + [key]))
    }

    func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
        _ = sink.refuse("a list", prefix, key.stringValue)
        return RefusedList(sink: sink, codingPath: codingPath + [key])
    }

    func superEncoder() -> any Encoder {
        RowEncoder(sink: sink, prefix: prefix, key: "super", codingPath: codingPath)
    }
    func superEncoder(forKey key: Key) -> any Encoder {
        RowEncoder(sink: sink, prefix: prefix, key: key.stringValue, codingPath: codingPath + [key])
    }
}

/// A list container that rejects its elements. `RowSink` already has the error.
private struct RefusedList: UnkeyedEncodingContainer {
    let sink: RowSink
    let codingPath: [any CodingKey]
    var count: Int { 0 }

    private var refused: WireError {
        sink.failure ?? WireError(.encodingFailed, "a series holds numbers, dates and Booleans")
    }

    func encodeNil() throws { throw refused }
    func encode<Value: Encodable>(_ value: Value) throws { throw refused }
    func nestedContainer<Nested: CodingKey>(keyedBy type: Nested.Type) -> KeyedEncodingContainer<Nested> {
        KeyedEncodingContainer(RowFields<Nested>(sink: sink, prefix: "", codingPath: codingPath))
    }
    func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer { self }
    func superEncoder() -> any Encoder { RowEncoder(sink: sink, prefix: "", key: "", codingPath: codingPath) }
}
