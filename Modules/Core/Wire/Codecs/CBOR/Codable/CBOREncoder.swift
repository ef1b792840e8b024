#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// What a type's `encode(to:)` gets. Coding paths are not tracked.
struct CBOREncoder: Encoder {
    let state: UnsafeMutablePointer<CBOREncodeState>
    let part: UInt32

    var codingPath: [any CodingKey] { [] }
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
        KeyedEncodingContainer(CBORKeyedWriter(state: state, map: state.pointee.open(part, as: .map)))
    }

    func unkeyedContainer() -> any UnkeyedEncodingContainer {
        CBORListWriter(state: state, list: state.pointee.open(part, as: .list))
    }

    func singleValueContainer() -> any SingleValueEncodingContainer { CBORSingleWriter(state: state, part: part) }
}

// MARK: - Single values

struct CBORSingleWriter: SingleValueEncodingContainer {
    let state: UnsafeMutablePointer<CBOREncodeState>
    let part: UInt32

    var codingPath: [any CodingKey] { [] }

    mutating func encodeNil() throws {
        state.pointee.begin(part)
        state.pointee.writer.writeSimple(CBORHead.Simple.null)
        state.pointee.end(part)
    }

    mutating func encode<Value: Encodable>(_ value: Value) throws {
        try CBOREncodeState.encode(value, in: state, into: part)
    }

    @inline(__always)
    private func write(_ value: some CBORScalar) {
        state.pointee.begin(part)
        value.write(to: &state.pointee.writer)
        state.pointee.end(part)
    }

    mutating func encode(_ value: Bool) throws { write(value) }
    mutating func encode(_ value: String) throws { write(value) }
    mutating func encode(_ value: Double) throws { write(value) }
    mutating func encode(_ value: Float) throws { write(value) }
    mutating func encode(_ value: Int) throws { write(value) }
    mutating func encode(_ value: Int8) throws { write(value) }
    mutating func encode(_ value: Int16) throws { write(value) }
    mutating func encode(_ value: Int32) throws { write(value) }
    mutating func encode(_ value: Int64) throws { write(value) }
    mutating func encode(_ value: UInt) throws { write(value) }
    mutating func encode(_ value: UInt8) throws { write(value) }
    mutating func encode(_ value: UInt16) throws { write(value) }
    mutating func encode(_ value: UInt32) throws { write(value) }
    mutating func encode(_ value: UInt64) throws { write(value) }

    @available(macOS 15, iOS 18, watchOS 11, tvOS 18, visionOS 2, *)
    mutating func encode(_ value: Int128) throws { write(value) }

    @available(macOS 15, iOS 18, watchOS 11, tvOS 18, visionOS 2, *)
    mutating func encode(_ value: UInt128) throws { write(value) }
}
