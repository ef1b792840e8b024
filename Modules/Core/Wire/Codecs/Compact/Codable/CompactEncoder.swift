import MeshFoundation

// The Codable path. Codable itself makes an allocation for each keyed container and two indirect calls for each field.
// This code adds no more than a compare and a store per field. Coding paths aren't tracked.

/// The encoder that a type's `encode(to:)` receives.
struct CompactEncoder: Encoder {
    let state: UnsafeMutablePointer<EncodeState>
    let serial: UInt32

    var codingPath: [any CodingKey] { [] }
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
        state.pointee.openRecord(serial)
        guard let entry = state.pointee.keyEntry(type) else {
            let contents = state.pointee.arena.add(RecordWriting(state: state, entry: nil, serial: serial))
            return KeyedEncodingContainer(CompactKeyedWriter(contents: contents))
        }
        let record = RecordWriting(state: state, entry: entry, serial: serial)
        if let cached = entry.pointee.cached {
            let cached = unsafeBitCast(
                cached, to: Unmanaged<CachedContainer<KeyedEncodingContainer<Key>, RecordWriting>>.self)
            if cached._withUnsafeGuaranteedRef({ $0.isFree }) {
                cached._withUnsafeGuaranteedRef { $0.contents.pointee = record }
                return cached._withUnsafeGuaranteedRef { $0.copy() }
            }
        }
        return makeContainer(record, entry)
    }

    /// Creates the first container of a key type, or one for a record inside another of the same key type.
    @inline(never)
    private func makeContainer<Key: CodingKey>(
        _ record: RecordWriting, _ entry: UnsafeMutablePointer<KeyTables.Entry>
    ) -> KeyedEncodingContainer<Key> {
        guard entry.pointee.cached == nil else {
            return KeyedEncodingContainer(CompactKeyedWriter(contents: state.pointee.arena.add(record)))
        }
        let contents = UnsafeMutablePointer<RecordWriting>.allocate(capacity: 1)
        contents.initialize(to: record)
        let container = KeyedEncodingContainer(CompactKeyedWriter<Key>(contents: contents))
        KeyTables.cache(CachedContainer(container, at: contents), in: entry)
        return container
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
        switch state.pointee.strategy(for: Value.self) {
        case .codable: try encodeCodable(value, in: state, as: head)
        case .direct(let type): state.pointee.writer.writeDirect(value, type, as: head)
        case .form(let type): try writeForm(value, as: type, in: state, head)
        case .unordered(let type):
            guard state.pointee.writer.isDeterministic, let collection = value as? any UnorderedCollection else {
                return try encodeCodable(value, in: state, as: head, hasUniqueNames: type.hasUniqueNames)
            }
            try collection.encodeSorted(in: state, as: head)
        }
    }

    /// Encodes a value with its type's own `encode(to:)`.
    @inline(__always)
    static func encodeCodable<Value: Encodable>(
        _ value: Value, in state: UnsafeMutablePointer<EncodeState>, as head: WireHead, hasUniqueNames: Bool = false
    ) throws {
        if _slowPath(state.pointee.writer.failure != nil), let failure = state.pointee.writer.failure { throw failure }
        let outer = state.pointee.top
        state.pointee.push(
            head, isNested: false, type: unsafeBitCast(Value.self as Any.Type, to: UnsafeRawPointer.self))
        if hasUniqueNames { state.pointee.frame.hasUniqueNames = true }
        do {
            try value.encode(to: CompactEncoder(state: state, serial: state.pointee.current))
        } catch {
            // The enclosing type may catch the error, but part of the value is already written.
            state.pointee.isIrregular = true
            state.pointee.dropFrames(above: outer)
            throw error
        }
        while state.pointee.top > outer { state.pointee.pop() }
    }

    /// - Parameter type: The same type as `Value`.
    private static func writeForm<Value, Form: CodableForm>(
        _ value: Value, as type: Form.Type, in state: UnsafeMutablePointer<EncodeState>, _ head: WireHead
    ) throws {
        try withUnsafePointer(to: value) { value in
            try UnsafeRawPointer(value).assumingMemoryBound(to: Form.self).pointee.encodeForm(in: state, as: head)
        }
    }

    /// Writes the wrapped value of an optional.
    @inline(__always)
    static func encodePresent<Value: Encodable>(
        _ value: Value, in state: UnsafeMutablePointer<EncodeState>, as head: WireHead
    ) throws {
        let start = state.pointee.writer.bytes.position
        try encode(value, in: state, as: head)
        state.pointee.writer.markPresent(from: start, as: head)
    }
}

extension CompactWriter {
    /// Writes a value whose type has the direct path.
    /// - Parameter type: The same type as `Value`.
    @inline(__always)
    mutating func writeDirect<Value, Direct: WireValue>(_ value: Value, _ type: Direct.Type, as head: WireHead) {
        withUnsafePointer(to: value) { value in
            let start = bytes.position
            withBorrowed(UnsafeRawPointer(value).assumingMemoryBound(to: Direct.self)) { $0.write(to: &self, as: head) }
            // The direct path leaves out a field that is nil, but this caller has requested it.
            if _slowPath(bytes.position == start) { writeNil(as: head) }
        }
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
        // An optional writes its wrapped value. If that is nil too, the outer optional must not read as nil.
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
