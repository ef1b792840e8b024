import MeshFoundation

/// The state that all containers of one message share. They hold a pointer to it and no other reference.
///
/// There is one cursor. The container that used it last owns it and continues there. If a type reads fields in the
/// order in which they were written, its next field is at the cursor. Any other container restarts at its beginning.
struct DecodeState: ~Copyable {
    var reader: CompactReader
    let usesDirectPath: Bool
    /// The tables of the calling thread.
    let scratch: UnsafeMutablePointer<CoderScratch>

    /// Serial number of the record that owns the cursor; 0 if none does.
    var owner: UInt32 = 0
    /// Offset of the record or list that has the cursor; -1 if none does.
    var ownerStart = -1
    /// If a list has the cursor: the number of its elements after the cursor.
    var listRemaining = 0
    private var lastSerial: UInt32 = 0
    /// The offset of a record that has only fields unknown to the type, and the name of one of them. Usually the field
    /// is an enum case of a newer version.
    var unknownCase: (start: Int, name: String)?

    /// Memory of containers that aren't cached.
    var arena = ContentsArena<RecordReading>()

    /// Blocks that were expanded into lists, and the states that read them.
    private var expanded: [(bytes: UnsafeMutableRawBufferPointer, state: UnsafeMutablePointer<DecodeState>)] = []

    init(
        reader: consuming CompactReader, scratch: UnsafeMutablePointer<CoderScratch>, usesDirectPath: Bool
    ) {
        self.reader = reader
        self.scratch = scratch
        self.usesDirectPath = usesDirectPath
    }

    deinit {
        for block in expanded {
            block.state.deinitialize(count: 1)
            block.state.deallocate()
            block.bytes.deallocate()
        }
    }

    @inline(__always)
    func strategy<Value>(for type: Value.Type) -> CodingStrategy {
        scratch.pointee.strategy(for: type, usesDirectPath)
    }

    @inline(__always)
    func keyEntry<Key: CodingKey>(_ type: Key.Type) -> UnsafeMutablePointer<KeyTables.Entry>? {
        scratch.pointee.decodingKeys.entry(type)
    }

    mutating func nextSerial() -> UInt32 {
        lastSerial &+= 1
        return lastSerial
    }
}

// MARK: - Values of any type

extension DecodeState {
    /// Reads a value of any type. Its kind has already been read.
    @inline(__always)
    static func decode<Value: Decodable>(
        _ type: Value.Type, _ kind: WireKind, in state: UnsafeMutablePointer<DecodeState>
    ) throws -> Value {
        if Value.self == Date.self, kind == .double {
            let date = Date(timeIntervalSinceReferenceDate: try state.pointee.reader.bytes.readDouble())
            return unsafeBitCast(date, to: Value.self)
        }
        if Value.self == UUID.self, kind == .uuid {
            return unsafeBitCast(try state.pointee.reader.bytes.readUUID(), to: Value.self)
        }
        switch state.pointee.strategy(for: Value.self) {
        case .direct(let direct): return try state.pointee.reader.readDirect(direct, kind)
        case .form(let form): return try readForm(form, kind, in: state)
        default: return try decodeCodable(type, kind, in: state)
        }
    }

    /// - Parameter type: The same type as `Value`.
    private static func readForm<Value, Form: CodableForm>(
        _ type: Form.Type, _ kind: WireKind, in state: UnsafeMutablePointer<DecodeState>
    ) throws -> Value {
        let value = try Form.decodeForm(kind, in: state)
        return withUnsafePointer(to: value) { UnsafeRawPointer($0).assumingMemoryBound(to: Value.self).pointee }
    }

    /// Runs the type's own `init(from:)` and moves past the value, however much of it the type has read.
    @inline(__always)
    static func decodeCodable<Value: Decodable>(
        _ type: Value.Type, _ written: WireKind, in state: UnsafeMutablePointer<DecodeState>
    ) throws -> Value {
        var kind = written
        // The `init(from:)` of an optional removes one mark itself.
        if _slowPath(kind == .some), !(type is any OptionalValue.Type) {
            while kind == .some { kind = try state.pointee.reader.readKind() }
        }
        // Only the direct path knows the numbered fields of such a record.
        if _slowPath(kind == .record), let direct = type as? any WireValue.Type {
            return try state.pointee.reader.readDirect(direct, kind)
        }
        let outer = state.pointee.cursorContext
        let start = state.pointee.reader.offset
        state.pointee.ownerStart = -1
        let decoder = CompactDecoder(
            state: state, start: UInt32(truncatingIfNeeded: start), kind: kind,
            depth: UInt8(truncatingIfNeeded: outer.depth))
        do {
            let value = try Value(from: decoder)
            try state.pointee.finish(kind, from: start, depth: outer.depth)
            state.pointee.cursorContext = outer
            return value
        } catch let error as DecodingError {
            // The enum's own error only says that no case matched.
            guard let unknown = state.pointee.unknownCase, unknown.start == start else { throw error }
            throw WireError.unknownCase(unknown.name, keys: Value.self)
        }
    }

    private struct CursorContext {
        let owner: UInt32
        let ownerStart: Int
        let depth: Int
        let recordStart: UnsafeRawPointer
        let lastField: UInt32
    }

    private var cursorContext: CursorContext {
        @inline(__always)
        get {
            CursorContext(
                owner: owner, ownerStart: ownerStart, depth: reader.depth, recordStart: reader.recordStart,
                lastField: reader.lastField)
        }
        @inline(__always)
        set {
            owner = newValue.owner
            ownerStart = newValue.ownerStart
            reader.depth = newValue.depth
            reader.recordStart = newValue.recordStart
            reader.lastField = newValue.lastField
        }
    }

    /// Moves past the value at `start`. Its container may own the cursor.
    @inline(__always)
    private mutating func finish(_ kind: WireKind, from start: Int, depth: Int) throws(WireError) {
        if _fastPath(ownerStart == start) {
            if kind == .list {
                while listRemaining > 0 {
                    try reader.skip(try reader.readKind())
                    listRemaining -= 1
                }
                return
            }
            if _fastPath(reader.bytes.remaining > 0 && reader.bytes.cursor.load(as: UInt8.self) == CompactMark.end) {
                reader.bytes.cursor += 1
                return
            }
            return try reader.skipFields(named: kind == .namedRecord)
        }
        // An inner container may have left its own depth.
        reader.depth = depth
        reader.bytes.cursor = reader.base + start
        try reader.skip(kind)
    }
}

extension CompactReader {
    /// Reads a value whose type has the direct path.
    /// - Parameter type: The same type as `Value`.
    @inline(__always)
    mutating func readDirect<Value, Direct: WireValue>(
        _ type: Direct.Type, _ kind: WireKind
    ) throws(WireError) -> Value {
        let value = try Direct(wire: kind, from: &self)
        return withUnsafePointer(to: value) { UnsafeRawPointer($0).assumingMemoryBound(to: Value.self).pointee }
    }
}

// MARK: - Fields

extension DecodeState {
    /// Gives the cursor to a record, and moves it to the record's start if another container had it.
    @inline(__always)
    mutating func takeCursor(for serial: UInt32, start: UInt32, depth: UInt8) {
        guard _slowPath(owner != serial) else { return }
        owner = serial
        ownerStart = Int(start)
        reader.bytes.cursor = reader.base + Int(start)
        reader.recordStart = reader.bytes.cursor
        reader.lastField = 0
        reader.depth = Int(depth)
    }

    /// Moves to the content of a field by name. Returns nil if there is none.
    @inline(__always)
    mutating func findNamed<Key: CodingKey>(
        _ key: Key, _ entry: UnsafeMutablePointer<KeyTables.Entry>?
    ) throws(WireError) -> WireKind? {
        if let entry, reader.bytes.remaining > 1 {
            let number = UInt32(entry.pointee.number(key))
            let start = reader.bytes.cursor
            let first = UInt32(start.load(as: UInt8.self))
            if first < 0x80 {
                if _fastPath(first >> 3 == number && number > 0) {
                    reader.bytes.cursor = start + 1
                    return try reader.readKind(low: UInt64(first & 7)).ifPresent
                }
            } else {
                let second = UInt32(start.load(fromByteOffset: 1, as: UInt8.self))
                let head = first & 0x7f | second << 7
                if _fastPath(second < 0x80 && head >> 3 == number && number > 0) {
                    reader.bytes.cursor = start + 2
                    return try reader.readKind(low: UInt64(head & 7)).ifPresent
                }
            }
        }
        return try searchNamed(key, entry)
    }

    /// Searches the record from the cursor to its end, then from its start.
    @inline(never)
    private mutating func searchNamed<Key: CodingKey>(
        _ key: Key, _ entry: UnsafeMutablePointer<KeyTables.Entry>?
    ) throws(WireError) -> WireKind? {
        let ordinal = entry == nil ? 0 : KeyTables.ordinal(key)
        if let entry, let name = entry.pointee.names[ordinal], let field = try reader.takeNamed(name.text) {
            entry.pointee.setNumber(field.number, at: ordinal)
            return field.kind.ifPresent
        }
        var wanted = key.stringValue
        if let entry { wanted.withUTF8 { entry.pointee.names.remember(UnsafeRawBufferPointer($0), at: ordinal) } }
        let origin = reader.bytes.cursor
        var found = try scan(for: &wanted, until: nil)
        if found == nil {
            reader.bytes.cursor = reader.recordStart
            found = try scan(for: &wanted, until: origin)
        }
        if let field = found {
            entry?.pointee.setNumber(field.number, at: ordinal)
            return field.kind.ifPresent
        }
        reader.bytes.cursor = origin
        return nil
    }

    private mutating func scan(
        for wanted: inout String, until limit: UnsafeRawPointer?
    ) throws(WireError) -> NamedHead? {
        while limit.map({ reader.bytes.cursor < $0 }) ?? true {
            guard let field = try reader.readNamedHead() else { return nil }
            if wanted.equals(field.name) { return field }
            try reader.skip(field.kind)
        }
        return nil
    }
}

private protocol OptionalValue {}
extension Optional: OptionalValue {}

extension WireKind {
    /// Nil for the mark of an absent field, otherwise the kind itself.
    var ifPresent: WireKind? {
        @inline(__always) get { self == .absent ? nil : self }
    }
}

// MARK: - Blocks as lists

extension DecodeState {
    /// Expands the block at the cursor into a list. Returns a state that reads the list.
    mutating func expand(_ kind: WireKind) throws(WireError) -> UnsafeMutablePointer<DecodeState> {
        let list = try reader.expandBlock(kind).list
        let bytes = UnsafeMutableRawBufferPointer.allocate(byteCount: list.count, alignment: 1)
        bytes.copyBytes(from: list)
        var inner: CompactReader
        do throws(WireError) {
            inner = try CompactReader(UnsafeRawBufferPointer(bytes), depthMax: reader.depthMax)
        } catch {
            bytes.deallocate()
            throw error
        }
        inner.depth = reader.depth
        let state = UnsafeMutablePointer<DecodeState>.allocate(capacity: 1)
        state.initialize(to: DecodeState(reader: inner, scratch: scratch, usesDirectPath: usesDirectPath))
        expanded.append((bytes, state))
        return state
    }
}
