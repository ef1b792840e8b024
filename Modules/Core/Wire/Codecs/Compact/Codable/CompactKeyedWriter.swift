/// The record that a container writes.
struct RecordWriting: BitwiseCopyable {
    let state: UnsafeMutablePointer<EncodeState>
    /// Cached data of the key type; nil if its keys are looked up by name.
    let entry: UnsafeMutablePointer<KeyTables.Entry>?
    let serial: UInt32
}

/// Writes the fields of a record by name.
struct CompactKeyedWriter<Key: CodingKey>: KeyedEncodingContainerProtocol {
    let contents: UnsafeMutablePointer<RecordWriting>

    private var state: UnsafeMutablePointer<EncodeState> { @inline(__always) get { contents.pointee.state } }

    var codingPath: [any CodingKey] { [] }

    @inline(__always)
    private func head(_ key: Key) throws -> WireHead {
        try state.pointee.field(key, of: contents.pointee.serial, contents.pointee.entry)
    }

    @inline(__always)
    private func write(_ value: some WireValue, _ key: Key) throws {
        let head = try head(key)
        value.write(to: &state.pointee.writer, as: head)
    }

    /// Marks a nil field as absent. A reader that asks in the same order then need not search for it.
    @inline(__always)
    private func write(_ value: (some WireValue)?, orAbsent key: Key) throws {
        let head = try head(key)
        if let value {
            value.write(to: &state.pointee.writer, as: head)
        } else {
            state.pointee.writer.writeAbsent(as: head)
        }
    }

    mutating func encodeNil(forKey key: Key) throws {
        let head = try head(key)
        state.pointee.writer.writeNil(as: head)
    }

    mutating func encode<Value: Encodable>(_ value: Value, forKey key: Key) throws {
        try EncodeState.encode(value, in: state, as: try head(key))
    }

    mutating func encodeIfPresent<Value: Encodable>(_ value: Value?, forKey key: Key) throws {
        let head = try head(key)
        guard let value else { return state.pointee.writer.writeAbsent(as: head) }
        try EncodeState.encodePresent(value, in: state, as: head)
    }
}

// MARK: - Nested containers

extension CompactKeyedWriter {
    mutating func nestedContainer<NestedKey: CodingKey>(
        keyedBy type: NestedKey.Type, forKey key: Key
    ) -> KeyedEncodingContainer<NestedKey> {
        nestedEncoder(key).container(keyedBy: type)
    }

    mutating func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
        nestedEncoder(key).unkeyedContainer()
    }

    mutating func superEncoder() -> any Encoder { nestedEncoder(named: "super") }

    mutating func superEncoder(forKey key: Key) -> any Encoder { nestedEncoder(key) }

    @inline(__always)
    private func nestedEncoder(_ key: Key) -> CompactEncoder {
        EncodeState.nest(in: state) { try head(key) }
    }

    private func nestedEncoder(named name: String) -> CompactEncoder {
        EncodeState.nest(in: state) {
            let serial = contents.pointee.serial
            if serial != state.pointee.current { try state.pointee.returnTo(serial) }
            let head = state.pointee.writer.writeName(name)
            try state.pointee.addField(head)
            return head
        }
    }
}

extension EncodeState {
    /// Returns an encoder for a nested value. The value ends when the container around it is used again.
    static func nest(in state: UnsafeMutablePointer<EncodeState>, head: () throws -> WireHead) -> CompactEncoder {
        // No frame has serial 0, so every write to this encoder throws.
        guard let head = try? head() else { return CompactEncoder(state: state, serial: 0) }
        state.pointee.push(head, isNested: true)
        return CompactEncoder(state: state, serial: state.pointee.current)
    }
}

extension CompactWriter {
    @inline(__always)
    mutating func writeAbsent(as head: WireHead) {
        bytes.reserve(Self.headBytesMax)
        writeHead(head, .absent)
    }
}

// MARK: - Scalars

extension CompactKeyedWriter {
    mutating func encode(_ value: Bool, forKey key: Key) throws { try write(value, key) }
    mutating func encode(_ value: String, forKey key: Key) throws { try write(value, key) }
    mutating func encode(_ value: Double, forKey key: Key) throws { try write(value, key) }
    mutating func encode(_ value: Float, forKey key: Key) throws { try write(value, key) }
    mutating func encode(_ value: Int, forKey key: Key) throws { try write(value, key) }
    mutating func encode(_ value: Int8, forKey key: Key) throws { try write(value, key) }
    mutating func encode(_ value: Int16, forKey key: Key) throws { try write(value, key) }
    mutating func encode(_ value: Int32, forKey key: Key) throws { try write(value, key) }
    mutating func encode(_ value: Int64, forKey key: Key) throws { try write(value, key) }
    mutating func encode(_ value: UInt, forKey key: Key) throws { try write(value, key) }
    mutating func encode(_ value: UInt8, forKey key: Key) throws { try write(value, key) }
    mutating func encode(_ value: UInt16, forKey key: Key) throws { try write(value, key) }
    mutating func encode(_ value: UInt32, forKey key: Key) throws { try write(value, key) }
    mutating func encode(_ value: UInt64, forKey key: Key) throws { try write(value, key) }

    @available(macOS 15, iOS 18, watchOS 11, tvOS 18, visionOS 2, *)
    mutating func encode(_ value: Int128, forKey key: Key) throws { try write(value, key) }

    @available(macOS 15, iOS 18, watchOS 11, tvOS 18, visionOS 2, *)
    mutating func encode(_ value: UInt128, forKey key: Key) throws { try write(value, key) }
}

extension CompactKeyedWriter {
    mutating func encodeIfPresent(_ value: Bool?, forKey key: Key) throws { try write(value, orAbsent: key) }
    mutating func encodeIfPresent(_ value: String?, forKey key: Key) throws { try write(value, orAbsent: key) }
    mutating func encodeIfPresent(_ value: Double?, forKey key: Key) throws { try write(value, orAbsent: key) }
    mutating func encodeIfPresent(_ value: Float?, forKey key: Key) throws { try write(value, orAbsent: key) }
    mutating func encodeIfPresent(_ value: Int?, forKey key: Key) throws { try write(value, orAbsent: key) }
    mutating func encodeIfPresent(_ value: Int8?, forKey key: Key) throws { try write(value, orAbsent: key) }
    mutating func encodeIfPresent(_ value: Int16?, forKey key: Key) throws { try write(value, orAbsent: key) }
    mutating func encodeIfPresent(_ value: Int32?, forKey key: Key) throws { try write(value, orAbsent: key) }
    mutating func encodeIfPresent(_ value: Int64?, forKey key: Key) throws { try write(value, orAbsent: key) }
    mutating func encodeIfPresent(_ value: UInt?, forKey key: Key) throws { try write(value, orAbsent: key) }
    mutating func encodeIfPresent(_ value: UInt8?, forKey key: Key) throws { try write(value, orAbsent: key) }
    mutating func encodeIfPresent(_ value: UInt16?, forKey key: Key) throws { try write(value, orAbsent: key) }
    mutating func encodeIfPresent(_ value: UInt32?, forKey key: Key) throws { try write(value, orAbsent: key) }
    mutating func encodeIfPresent(_ value: UInt64?, forKey key: Key) throws { try write(value, orAbsent: key) }

    @available(macOS 15, iOS 18, watchOS 11, tvOS 18, visionOS 2, *)
    mutating func encodeIfPresent(_ value: Int128?, forKey key: Key) throws { try write(value, orAbsent: key) }

    @available(macOS 15, iOS 18, watchOS 11, tvOS 18, visionOS 2, *)
    mutating func encodeIfPresent(_ value: UInt128?, forKey key: Key) throws { try write(value, orAbsent: key) }
}
