/// A map that is being written.
struct CBORKeyedWriter<Key: CodingKey>: KeyedEncodingContainerProtocol {
    let state: UnsafeMutablePointer<CBOREncodeState>
    let map: UInt32

    var codingPath: [any CodingKey] { [] }

    mutating func encodeNil(forKey key: Key) throws {
        let part = state.pointee.add(key, to: map)
        state.pointee.writer.writeSimple(CBORHead.Simple.null)
        state.pointee.end(part)
    }

    mutating func encode<Value: Encodable>(_ value: Value, forKey key: Key) throws {
        let part = state.pointee.add(key, to: map)
        try CBOREncodeState.encode(value, in: state, into: part)
    }

    @inline(__always)
    private func write(_ value: some CBORScalar, _ key: Key) {
        let part = state.pointee.add(key, to: map)
        value.write(to: &state.pointee.writer)
        state.pointee.end(part)
    }
}

// MARK: - Nested containers

extension CBORKeyedWriter {
    mutating func nestedContainer<NestedKey: CodingKey>(
        keyedBy type: NestedKey.Type, forKey key: Key
    ) -> KeyedEncodingContainer<NestedKey> {
        nestedEncoder(key).container(keyedBy: type)
    }

    mutating func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
        nestedEncoder(key).unkeyedContainer()
    }

    mutating func superEncoder() -> any Encoder {
        CBOREncoder(state: state, part: state.pointee.add(named: "super", to: map))
    }

    mutating func superEncoder(forKey key: Key) -> any Encoder { nestedEncoder(key) }

    private func nestedEncoder(_ key: Key) -> CBOREncoder {
        CBOREncoder(state: state, part: state.pointee.add(key, to: map))
    }
}

// MARK: - Scalars

extension CBORKeyedWriter {
    mutating func encode(_ value: Bool, forKey key: Key) throws { write(value, key) }
    mutating func encode(_ value: String, forKey key: Key) throws { write(value, key) }
    mutating func encode(_ value: Double, forKey key: Key) throws { write(value, key) }
    mutating func encode(_ value: Float, forKey key: Key) throws { write(value, key) }
    mutating func encode(_ value: Int, forKey key: Key) throws { write(value, key) }
    mutating func encode(_ value: Int8, forKey key: Key) throws { write(value, key) }
    mutating func encode(_ value: Int16, forKey key: Key) throws { write(value, key) }
    mutating func encode(_ value: Int32, forKey key: Key) throws { write(value, key) }
    mutating func encode(_ value: Int64, forKey key: Key) throws { write(value, key) }
    mutating func encode(_ value: UInt, forKey key: Key) throws { write(value, key) }
    mutating func encode(_ value: UInt8, forKey key: Key) throws { write(value, key) }
    mutating func encode(_ value: UInt16, forKey key: Key) throws { write(value, key) }
    mutating func encode(_ value: UInt32, forKey key: Key) throws { write(value, key) }
    mutating func encode(_ value: UInt64, forKey key: Key) throws { write(value, key) }

    @available(macOS 15, iOS 18, watchOS 11, tvOS 18, visionOS 2, *)
    mutating func encode(_ value: Int128, forKey key: Key) throws { write(value, key) }

    @available(macOS 15, iOS 18, watchOS 11, tvOS 18, visionOS 2, *)
    mutating func encode(_ value: UInt128, forKey key: Key) throws { write(value, key) }
}
