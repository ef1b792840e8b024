/// Writes the elements of a list.
struct CompactListWriter: UnkeyedEncodingContainer {
    let state: UnsafeMutablePointer<EncodeState>
    let serial: UInt32
    private(set) var count = 0

    init(state: UnsafeMutablePointer<EncodeState>, serial: UInt32) {
        self.state = state
        self.serial = serial
        // A second container of the same value continues where the first one stopped.
        if serial == state.pointee.current { count = state.pointee.frame.count }
    }

    var codingPath: [any CodingKey] { [] }

    @inline(__always)
    private mutating func head() throws -> WireHead {
        let head = try state.pointee.element(of: serial)
        count &+= 1
        return head
    }

    @inline(__always)
    private mutating func write(_ value: some WireValue) throws {
        let head = try head()
        value.write(to: &state.pointee.writer, as: head)
    }

    mutating func encodeNil() throws {
        let head = try head()
        state.pointee.writer.writeNil(as: head)
    }

    mutating func encode<Value: Encodable>(_ value: Value) throws {
        try EncodeState.encode(value, in: state, as: try head())
    }

    mutating func nestedContainer<NestedKey: CodingKey>(
        keyedBy type: NestedKey.Type
    ) -> KeyedEncodingContainer<NestedKey> {
        nestedEncoder().container(keyedBy: type)
    }

    mutating func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer { nestedEncoder().unkeyedContainer() }

    mutating func superEncoder() -> any Encoder { nestedEncoder() }

    private mutating func nestedEncoder() -> CompactEncoder {
        let serial = serial
        let state = state
        count &+= 1
        return EncodeState.nest(in: state) { try state.pointee.element(of: serial) }
    }
}

// MARK: - Scalars

extension CompactListWriter {
    mutating func encode(_ value: Bool) throws { try write(value) }
    mutating func encode(_ value: String) throws { try write(value) }
    mutating func encode(_ value: Double) throws { try write(value) }
    mutating func encode(_ value: Float) throws { try write(value) }
    mutating func encode(_ value: Int) throws { try write(value) }
    mutating func encode(_ value: Int8) throws { try write(value) }
    mutating func encode(_ value: Int16) throws { try write(value) }
    mutating func encode(_ value: Int32) throws { try write(value) }
    mutating func encode(_ value: Int64) throws { try write(value) }
    mutating func encode(_ value: UInt) throws { try write(value) }
    mutating func encode(_ value: UInt8) throws { try write(value) }
    mutating func encode(_ value: UInt16) throws { try write(value) }
    mutating func encode(_ value: UInt32) throws { try write(value) }
    mutating func encode(_ value: UInt64) throws { try write(value) }

    @available(macOS 15, iOS 18, watchOS 11, tvOS 18, visionOS 2, *)
    mutating func encode(_ value: Int128) throws { try write(value) }

    @available(macOS 15, iOS 18, watchOS 11, tvOS 18, visionOS 2, *)
    mutating func encode(_ value: UInt128) throws { try write(value) }
}
