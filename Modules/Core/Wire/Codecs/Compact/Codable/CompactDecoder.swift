import MeshFoundation

/// The decoder that a type's `init(from:)` receives: an offset in the message and the kind of the value there.
struct CompactDecoder: Decoder {
    let state: UnsafeMutablePointer<DecodeState>
    let start: UInt32
    let kind: WireKind
    /// Number of records and lists around this value.
    let depth: UInt8

    var codingPath: [any CodingKey] { [] }
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
        guard kind == .namedRecord || kind == .record else { throw WireError.mismatch(kind, wanted: "a record") }
        let entry = state.pointee.keyEntry(type)
        let record = RecordReading(
            state: state, entry: kind == .namedRecord ? entry : nil, start: start,
            serial: state.pointee.nextSerial(), depth: try deeper(), isNamed: kind == .namedRecord)
        state.pointee.takeCursor(for: record.serial, start: start, depth: record.depth)
        guard let entry else {
            return KeyedDecodingContainer(CompactKeyedReader(contents: state.pointee.arena.add(record)))
        }
        if let cached = entry.pointee.cached {
            let cached = unsafeBitCast(
                cached, to: Unmanaged<CachedContainer<KeyedDecodingContainer<Key>, RecordReading>>.self)
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
        _ record: RecordReading, _ entry: UnsafeMutablePointer<KeyTables.Entry>
    ) -> KeyedDecodingContainer<Key> {
        guard entry.pointee.cached == nil else {
            return KeyedDecodingContainer(CompactKeyedReader(contents: state.pointee.arena.add(record)))
        }
        let contents = UnsafeMutablePointer<RecordReading>.allocate(capacity: 1)
        contents.initialize(to: record)
        let container = KeyedDecodingContainer(CompactKeyedReader<Key>(contents: contents))
        KeyTables.cache(CachedContainer(container, at: contents), in: entry)
        return container
    }

    func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
        state.pointee.reader.bytes.cursor = state.pointee.reader.base + Int(start)
        state.pointee.owner = 0
        guard kind == .list else {
            state.pointee.reader.depth = Int(depth)
            let list = try state.pointee.expand(kind)
            return try CompactListReader(state: list, start: 0, depth: try deeper())
        }
        return try CompactListReader(state: state, start: start, depth: try deeper())
    }

    func singleValueContainer() -> any SingleValueDecodingContainer { CompactSingleReader(decoder: self) }

    private func deeper() throws -> UInt8 {
        guard Int(depth) < state.pointee.reader.depthMax else {
            throw WireError(.tooDeep, "values are nested more than \(state.pointee.reader.depthMax) levels deep")
        }
        return depth + 1
    }
}

// MARK: - Single values

struct CompactSingleReader: SingleValueDecodingContainer {
    let decoder: CompactDecoder

    var codingPath: [any CodingKey] { [] }

    func decodeNil() -> Bool { decoder.kind == .nil }

    func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
        seek()
        decoder.state.pointee.owner = 0
        decoder.state.pointee.reader.depth = Int(decoder.depth)
        let kind = try decoder.state.pointee.unwrapped(decoder.kind)
        let value = try DecodeState.decode(type, kind, in: decoder.state)
        // The cursor is past the complete value now.
        decoder.state.pointee.ownerStart = -1
        return value
    }

    func decode(_ type: Bool.Type) throws -> Bool { try read() }
    func decode(_ type: String.Type) throws -> String { try read() }
    func decode(_ type: Double.Type) throws -> Double { try read() }
    func decode(_ type: Float.Type) throws -> Float { try read() }
    func decode(_ type: Int.Type) throws -> Int { try read() }
    func decode(_ type: Int8.Type) throws -> Int8 { try read() }
    func decode(_ type: Int16.Type) throws -> Int16 { try read() }
    func decode(_ type: Int32.Type) throws -> Int32 { try read() }
    func decode(_ type: Int64.Type) throws -> Int64 { try read() }
    func decode(_ type: UInt.Type) throws -> UInt { try read() }
    func decode(_ type: UInt8.Type) throws -> UInt8 { try read() }
    func decode(_ type: UInt16.Type) throws -> UInt16 { try read() }
    func decode(_ type: UInt32.Type) throws -> UInt32 { try read() }
    func decode(_ type: UInt64.Type) throws -> UInt64 { try read() }

    @available(macOS 15, iOS 18, watchOS 11, tvOS 18, visionOS 2, *)
    func decode(_ type: Int128.Type) throws -> Int128 { try read() }

    @available(macOS 15, iOS 18, watchOS 11, tvOS 18, visionOS 2, *)
    func decode(_ type: UInt128.Type) throws -> UInt128 { try read() }

    @inline(__always)
    private func seek() {
        decoder.state.pointee.reader.bytes.cursor = decoder.state.pointee.reader.base + Int(decoder.start)
    }

    @inline(__always)
    private func read<Value: WireValue>() throws -> Value {
        seek()
        return try Value(wire: decoder.kind, from: &decoder.state.pointee.reader)
    }
}
