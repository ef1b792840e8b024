/// The record that a container reads.
struct RecordReading: BitwiseCopyable {
    let state: UnsafeMutablePointer<DecodeState>
    /// Cached data of the key type; nil if its keys are looked up by name.
    let entry: UnsafeMutablePointer<KeyTables.Entry>?
    let start: UInt32
    let serial: UInt32
    let depth: UInt8
    let isNamed: Bool
}

/// Reads the fields of a record by name, or by number if the coding keys have numbers.
struct CompactKeyedReader<Key: CodingKey>: KeyedDecodingContainerProtocol {
    let contents: UnsafeMutablePointer<RecordReading>

    private var state: UnsafeMutablePointer<DecodeState> { @inline(__always) get { contents.pointee.state } }

    var codingPath: [any CodingKey] { [] }

    @inline(__always)
    private func takeCursor() {
        state.pointee.takeCursor(
            for: contents.pointee.serial, start: contents.pointee.start, depth: contents.pointee.depth)
    }

    /// Moves to the content of a field. Returns nil if there is none.
    @inline(__always)
    private func find(_ key: Key) throws(WireError) -> WireKind? {
        takeCursor()
        if _fastPath(contents.pointee.isNamed) { return try state.pointee.findNamed(key, contents.pointee.entry) }
        return try findNumbered(key)
    }

    @inline(never)
    private func findNumbered(_ key: Key) throws(WireError) -> WireKind? {
        guard let number = key.intValue else { return nil }
        return try state.pointee.reader.find(field: number)
    }

    @inline(__always)
    private func read<Value: WireValue>(_ key: Key) throws(WireError) -> Value {
        do throws(WireError) {
            guard let kind = try find(key) else { throw .missing(key) }
            return try Value(wire: kind, from: &state.pointee.reader)
        } catch {
            throw located(error, key)
        }
    }

    @inline(__always)
    private func readIfPresent<Value: WireValue>(_ key: Key) throws(WireError) -> Value? {
        do throws(WireError) {
            guard let kind = try find(key) else { return nil }
            return try Value?(wire: kind, from: &state.pointee.reader)
        } catch {
            throw located(error, key)
        }
    }

    func decode<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value {
        do {
            guard let kind = try find(key) else { throw WireError.missing(key) }
            return try DecodeState.decode(type, kind, in: state)
        } catch {
            throw located(error, key)
        }
    }

    func decodeIfPresent<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value? {
        do {
            guard let kind = try find(key), kind != .nil else { return nil }
            return try DecodeState.decode(type, try state.pointee.unwrapped(kind), in: state)
        } catch {
            throw located(error, key)
        }
    }

    func contains(_ key: Key) -> Bool {
        // Damaged bytes cause an error when the value is read.
        (try? withoutMoving { try find(key) != nil }) ?? false
    }

    func decodeNil(forKey key: Key) throws -> Bool {
        try withoutMoving {
            guard let kind = try find(key) else { throw WireError.missing(key).within(key.stringValue) }
            return kind == .nil
        }
    }

    var allKeys: [Key] { (try? withoutMoving { try readKeys() }) ?? [] }
}

// MARK: - Nested containers

extension CompactKeyedReader {
    func nestedContainer<NestedKey: CodingKey>(
        keyedBy type: NestedKey.Type, forKey key: Key
    ) throws -> KeyedDecodingContainer<NestedKey> {
        do { return try decoder(key).container(keyedBy: type) } catch { throw located(error, key) }
    }

    func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
        do { return try decoder(key).unkeyedContainer() } catch { throw located(error, key) }
    }

    func superDecoder() throws -> any Decoder {
        takeCursor()
        let kind = contents.pointee.isNamed ? try state.pointee.findNamed(SuperKey(), nil) : nil
        guard let kind else { throw WireError.missing(SuperKey()) }
        return decoder(kind)
    }

    func superDecoder(forKey key: Key) throws -> any Decoder {
        do { return try decoder(key) } catch { throw located(error, key) }
    }

    private func decoder(_ key: Key) throws -> CompactDecoder {
        guard let kind = try find(key) else { throw WireError.missing(key) }
        return decoder(kind)
    }

    private func decoder(_ kind: WireKind) -> CompactDecoder {
        let start = UInt32(truncatingIfNeeded: state.pointee.reader.offset)
        // Readers of that value move the cursor.
        state.pointee.owner = 0
        return CompactDecoder(state: state, start: start, kind: kind, depth: contents.pointee.depth)
    }

    private struct SuperKey: CodingKey {
        var stringValue: String { "super" }
        var intValue: Int? { nil }

        init() {}
        init?(stringValue: String) { nil }
        init?(intValue: Int) { nil }
    }
}

// MARK: - Looking without moving

extension CompactKeyedReader {
    private func withoutMoving<Result>(_ body: () throws -> Result) rethrows -> Result {
        takeCursor()
        let cursor = state.pointee.reader.bytes.cursor
        let lastField = state.pointee.reader.lastField
        defer {
            state.pointee.reader.bytes.cursor = cursor
            state.pointee.reader.lastField = lastField
        }
        return try body()
    }

    private func readKeys() throws -> [Key] {
        state.pointee.reader.bytes.cursor = state.pointee.reader.recordStart
        var keys: [Key] = []
        var unknown: String?
        if contents.pointee.isNamed {
            while let field = try state.pointee.reader.readNamedHead() {
                if field.kind != .absent {
                    let name = try String(wire: field.name)
                    if let key = Key(stringValue: name) { keys.append(key) } else { unknown = name }
                }
                try state.pointee.reader.skip(field.kind)
            }
        } else {
            while let field = try state.pointee.reader.readNumberedHead() {
                let number = Int(field.number)
                if let key = Key(intValue: number) { keys.append(key) } else { unknown = "\(number)" }
                try state.pointee.reader.skip(field.kind)
            }
        }
        state.pointee.unknownCase = keys.isEmpty ? unknown.map { (start: Int(contents.pointee.start), name: $0) } : nil
        return keys
    }

    // A caller may continue after an error. The cursor could be anywhere, so no container owns it.

    @inline(never)
    private func located(_ error: any Error, _ key: Key) -> any Error {
        state.pointee.owner = 0
        return (error as? WireError)?.within(key.stringValue) ?? error
    }

    @inline(never)
    private func located(_ error: WireError, _ key: Key) -> WireError {
        state.pointee.owner = 0
        return error.within(key.stringValue)
    }
}

extension CompactReader {
    /// Moves past the next field's head. Returns nil after the end of the record.
    fileprivate mutating func readNumberedHead() throws(WireError) -> (number: UInt32, kind: WireKind)? {
        let head = try bytes.readVarint()
        if head == UInt64(CompactMark.end) { return nil }
        guard head > 7, let number = UInt32(exactly: head >> 3) else { throw .unknownMark(head) }
        return (number, try readKind(low: head & 7))
    }
}

extension DecodeState {
    /// If the kind is the mark of a present value, reads and returns the kind after it.
    @inline(__always)
    mutating func unwrapped(_ kind: WireKind) throws(WireError) -> WireKind {
        kind == .some ? try reader.readKind() : kind
    }
}

// MARK: - Scalars

extension CompactKeyedReader {
    func decode(_ type: Bool.Type, forKey key: Key) throws -> Bool { try read(key) }
    func decode(_ type: String.Type, forKey key: Key) throws -> String { try read(key) }
    func decode(_ type: Double.Type, forKey key: Key) throws -> Double { try read(key) }
    func decode(_ type: Float.Type, forKey key: Key) throws -> Float { try read(key) }
    func decode(_ type: Int.Type, forKey key: Key) throws -> Int { try read(key) }
    func decode(_ type: Int8.Type, forKey key: Key) throws -> Int8 { try read(key) }
    func decode(_ type: Int16.Type, forKey key: Key) throws -> Int16 { try read(key) }
    func decode(_ type: Int32.Type, forKey key: Key) throws -> Int32 { try read(key) }
    func decode(_ type: Int64.Type, forKey key: Key) throws -> Int64 { try read(key) }
    func decode(_ type: UInt.Type, forKey key: Key) throws -> UInt { try read(key) }
    func decode(_ type: UInt8.Type, forKey key: Key) throws -> UInt8 { try read(key) }
    func decode(_ type: UInt16.Type, forKey key: Key) throws -> UInt16 { try read(key) }
    func decode(_ type: UInt32.Type, forKey key: Key) throws -> UInt32 { try read(key) }
    func decode(_ type: UInt64.Type, forKey key: Key) throws -> UInt64 { try read(key) }

    @available(macOS 15, iOS 18, watchOS 11, tvOS 18, visionOS 2, *)
    func decode(_ type: Int128.Type, forKey key: Key) throws -> Int128 { try read(key) }

    @available(macOS 15, iOS 18, watchOS 11, tvOS 18, visionOS 2, *)
    func decode(_ type: UInt128.Type, forKey key: Key) throws -> UInt128 { try read(key) }
}

extension CompactKeyedReader {
    func decodeIfPresent(_ type: Bool.Type, forKey key: Key) throws -> Bool? { try readIfPresent(key) }
    func decodeIfPresent(_ type: String.Type, forKey key: Key) throws -> String? { try readIfPresent(key) }
    func decodeIfPresent(_ type: Double.Type, forKey key: Key) throws -> Double? { try readIfPresent(key) }
    func decodeIfPresent(_ type: Float.Type, forKey key: Key) throws -> Float? { try readIfPresent(key) }
    func decodeIfPresent(_ type: Int.Type, forKey key: Key) throws -> Int? { try readIfPresent(key) }
    func decodeIfPresent(_ type: Int8.Type, forKey key: Key) throws -> Int8? { try readIfPresent(key) }
    func decodeIfPresent(_ type: Int16.Type, forKey key: Key) throws -> Int16? { try readIfPresent(key) }
    func decodeIfPresent(_ type: Int32.Type, forKey key: Key) throws -> Int32? { try readIfPresent(key) }
    func decodeIfPresent(_ type: Int64.Type, forKey key: Key) throws -> Int64? { try readIfPresent(key) }
    func decodeIfPresent(_ type: UInt.Type, forKey key: Key) throws -> UInt? { try readIfPresent(key) }
    func decodeIfPresent(_ type: UInt8.Type, forKey key: Key) throws -> UInt8? { try readIfPresent(key) }
    func decodeIfPresent(_ type: UInt16.Type, forKey key: Key) throws -> UInt16? { try readIfPresent(key) }
    func decodeIfPresent(_ type: UInt32.Type, forKey key: Key) throws -> UInt32? { try readIfPresent(key) }
    func decodeIfPresent(_ type: UInt64.Type, forKey key: Key) throws -> UInt64? { try readIfPresent(key) }

    @available(macOS 15, iOS 18, watchOS 11, tvOS 18, visionOS 2, *)
    func decodeIfPresent(_ type: Int128.Type, forKey key: Key) throws -> Int128? { try readIfPresent(key) }

    @available(macOS 15, iOS 18, watchOS 11, tvOS 18, visionOS 2, *)
    func decodeIfPresent(_ type: UInt128.Type, forKey key: Key) throws -> UInt128? { try readIfPresent(key) }
}
