#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

// The Codable path. A keyed container costs Codable an allocation and two indirect calls a field; what is added to that
// here is kept to a compare and a store. Coding paths are not tracked.

/// What a type's `encode(to:)` gets.
struct CompactEncoder: Encoder {
    let state: UnsafeMutablePointer<EncodeState>
    let serial: UInt32

    var codingPath: [any CodingKey] { [] }
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
        state.pointee.openRecord(serial)
        return KeyedEncodingContainer(
            CompactKeyedWriter(state: state, table: state.pointee.table(type), serial: serial))
    }

    func unkeyedContainer() -> any UnkeyedEncodingContainer {
        state.pointee.openList(serial)
        return CompactListWriter(state: state, serial: serial)
    }

    func singleValueContainer() -> any SingleValueEncodingContainer {
        CompactSingleWriter(state: state, serial: serial)
    }
}

// MARK: - Values of any type

extension EncodeState {
    /// Writes a value of any type.
    @inline(__always)
    static func encode<Value: Encodable>(
        _ value: Value, in state: UnsafeMutablePointer<EncodeState>, as head: WireHead
    ) throws {
        if Value.self == Date.self {
            return state.pointee.writer.write(
                unsafeBitCast(value, to: Date.self).timeIntervalSinceReferenceDate, as: head)
        }
        if Value.self == UUID.self {
            return state.pointee.writer.write(unsafeBitCast(value, to: UUID.self), as: head)
        }
        switch state.pointee.classify(Value.self) {
        case .codable: try encodeCodable(value, in: state, as: head)
        case .direct(let type): writeDirect(value, as: type, in: state, head)
        case .unordered:
            guard state.pointee.writer.isDeterministic, let collection = value as? any UnorderedCollection else {
                return try encodeCodable(value, in: state, as: head)
            }
            try collection.encodeSorted(in: state, as: head)
        }
    }

    /// Runs the type's own `encode(to:)`.
    @inline(__always)
    private static func encodeCodable<Value: Encodable>(
        _ value: Value, in state: UnsafeMutablePointer<EncodeState>, as head: WireHead
    ) throws {
        if _slowPath(state.pointee.writer.failure != nil), let failure = state.pointee.writer.failure { throw failure }
        let outer = state.pointee.top
        state.pointee.push(
            head, isNested: false, type: unsafeBitCast(Value.self as Any.Type, to: UnsafeRawPointer.self))
        do {
            try value.encode(to: CompactEncoder(state: state, serial: state.pointee.current))
        } catch {
            state.pointee.dropFrames(above: outer)
            throw error
        }
        while state.pointee.top > outer { state.pointee.pop() }
    }

    /// - Parameter type: `Value` itself.
    @inline(__always)
    private static func writeDirect<Value, Direct: WireValue>(
        _ value: Value, as type: Direct.Type, in state: UnsafeMutablePointer<EncodeState>, _ head: WireHead
    ) {
        withUnsafePointer(to: value) { value in
            // A field that is nil is left out on the direct path; here the caller has asked for it to be written.
            state.pointee.writer.writeEvenNil(
                UnsafeRawPointer(value).assumingMemoryBound(to: Direct.self).pointee, as: head)
        }
    }

    /// Writes the value of an optional.
    @inline(__always)
    static func encodePresent<Value: Encodable>(
        _ value: Value, in state: UnsafeMutablePointer<EncodeState>, as head: WireHead
    ) throws {
        let start = state.pointee.writer.bytes.position
        try encode(value, in: state, as: head)
        state.pointee.writer.markPresent(from: start, as: head)
    }
}

// MARK: - Single values

struct CompactSingleWriter: SingleValueEncodingContainer {
    let state: UnsafeMutablePointer<EncodeState>
    let serial: UInt32

    var codingPath: [any CodingKey] { [] }

    mutating func encodeNil() throws { state.pointee.writer.writeNil(as: try state.pointee.openSingle(serial)) }

    mutating func encode<Value: Encodable>(_ value: Value) throws {
        let type = state.pointee.frame.type
        let head = try state.pointee.openSingle(serial)
        // An optional writes what it holds; when that is nil too, the outer one must not read as nil.
        if type == unsafeBitCast(Value?.self as Any.Type, to: UnsafeRawPointer.self) {
            try EncodeState.encodePresent(value, in: state, as: head)
        } else {
            try EncodeState.encode(value, in: state, as: head)
        }
    }

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

    @inline(__always)
    private func write(_ value: some WireValue) throws {
        value.write(to: &state.pointee.writer, as: try state.pointee.openSingle(serial))
    }
}
