/// A list that is being written.
struct CBORListWriter: UnkeyedEncodingContainer {
    let state: UnsafeMutablePointer<CBOREncodeState>
    let list: UInt32

    var codingPath: [any CodingKey] { [] }
    var count: Int { Int(state.pointee.parts[Int(list)].count) }

    mutating func encodeNil() throws {
        let part = state.pointee.addScalar(to: list)
        state.pointee.writer.writeSimple(CBORHead.Simple.null)
        state.pointee.end(part)
    }

    mutating func encode<Value: Encodable>(_ value: Value) throws {
        guard case .scalar(let type) = state.pointee.forms[Value.self] else {
            return try CBOREncodeState.encode(value, in: state, into: state.pointee.add(to: list))
        }
        let part = state.pointee.addScalar(to: list)
        CBOREncodeState.write(value, as: type, in: state)
        state.pointee.end(part)
    }

    @inline(__always)
    private func write(_ value: some CBORScalar) {
        let part = state.pointee.addScalar(to: list)
        value.write(to: &state.pointee.writer)
        state.pointee.end(part)
    }
}

// MARK: - Nested containers

extension CBORListWriter {
    mutating func nestedContainer<NestedKey: CodingKey>(
        keyedBy type: NestedKey.Type
    ) -> KeyedEncodingContainer<NestedKey> {
        nestedEncoder().container(keyedBy: type)
    }

    mutating func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer { nestedEncoder().unkeyedContainer() }

    mutating func superEncoder() -> any Encoder { nestedEncoder() }

    private func nestedEncoder() -> CBOREncoder { CBOREncoder(state: state, part: state.pointee.add(to: list)) }
}

// MARK: - Scalars

extension CBORListWriter {
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
