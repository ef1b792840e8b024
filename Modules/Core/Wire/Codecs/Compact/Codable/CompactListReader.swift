/// Reads the elements of a list.
struct CompactListReader: UnkeyedDecodingContainer {
    private let state: UnsafeMutablePointer<DecodeState>
    private let start: UInt32
    private var offset: UInt32
    private let total: UInt32
    private var index: UInt32 = 0
    private let depth: UInt8

    /// Reads the list's count, which is at the cursor.
    init(state: UnsafeMutablePointer<DecodeState>, start: UInt32, depth: UInt8) throws(WireError) {
        self.state = state
        self.start = start
        self.depth = depth
        let count = try state.pointee.reader.readCount()
        offset = UInt32(truncatingIfNeeded: state.pointee.reader.offset)
        total = UInt32(truncatingIfNeeded: count)
        state.pointee.ownerStart = Int(start)
        state.pointee.listRemaining = count
        try state.pointee.reader.checkElements(count)
    }

    var codingPath: [any CodingKey] { [] }
    var count: Int? { Int(total) }
    var isAtEnd: Bool { index >= total }
    var currentIndex: Int { Int(index) }

    /// Moves to the content of the next element.
    @inline(__always)
    private func next() throws(WireError) -> WireKind {
        guard _fastPath(index < total) else { throw WireError(.truncated, "the list has \(total) elements") }
        state.pointee.reader.bytes.cursor = state.pointee.reader.base + Int(offset)
        state.pointee.reader.depth = Int(depth)
        state.pointee.owner = 0
        return try state.pointee.reader.readKind()
    }

    /// Counts the element that has been read.
    @inline(__always)
    private mutating func advance() {
        offset = UInt32(truncatingIfNeeded: state.pointee.reader.offset)
        index &+= 1
        state.pointee.ownerStart = Int(start)
        state.pointee.listRemaining = Int(total &- index)
    }

    @inline(__always)
    private mutating func read<Value: WireValue>() throws(WireError) -> Value {
        do throws(WireError) {
            let value = try Value(wire: try next(), from: &state.pointee.reader)
            advance()
            return value
        } catch {
            throw error.within("\(index)")
        }
    }

    mutating func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
        do {
            let value = try DecodeState.decode(type, try next(), in: state)
            advance()
            return value
        } catch {
            throw located(error)
        }
    }

    mutating func decodeNil() throws -> Bool {
        guard try next() == .nil else { return false }
        advance()
        return true
    }

    @inline(never)
    private func located(_ error: any Error) -> any Error { (error as? WireError)?.within("\(index)") ?? error }
}

// MARK: - Nested containers

extension CompactListReader {
    mutating func nestedContainer<NestedKey: CodingKey>(
        keyedBy type: NestedKey.Type
    ) throws -> KeyedDecodingContainer<NestedKey> {
        do { return try decoder().container(keyedBy: type) } catch { throw located(error) }
    }

    mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
        do { return try decoder().unkeyedContainer() } catch { throw located(error) }
    }

    mutating func superDecoder() throws -> any Decoder { try decoder() }

    /// Returns a decoder for the next element, and moves this list past that element.
    private mutating func decoder() throws(WireError) -> CompactDecoder {
        let kind = try next()
        let start = UInt32(truncatingIfNeeded: state.pointee.reader.offset)
        try state.pointee.reader.skip(kind)
        advance()
        return CompactDecoder(state: state, start: start, kind: kind, depth: depth)
    }
}

extension CompactReader {
    /// Walks a long list of short elements to verify its count. The standard library reserves memory for as many elements as
    /// the list claims, whatever their size in memory.
    fileprivate mutating func checkElements(_ count: Int) throws(WireError) {
        guard count > 64, bytes.remaining / 8 < count else { return }
        let start = bytes.cursor
        for _ in 0..<count { try skip(try readKind()) }
        bytes.cursor = start
    }
}

// MARK: - Scalars

extension CompactListReader {
    mutating func decode(_ type: Bool.Type) throws -> Bool { try read() }
    mutating func decode(_ type: String.Type) throws -> String { try read() }
    mutating func decode(_ type: Double.Type) throws -> Double { try read() }
    mutating func decode(_ type: Float.Type) throws -> Float { try read() }
    mutating func decode(_ type: Int.Type) throws -> Int { try read() }
    mutating func decode(_ type: Int8.Type) throws -> Int8 { try read() }
    mutating func decode(_ type: Int16.Type) throws -> Int16 { try read() }
    mutating func decode(_ type: Int32.Type) throws -> Int32 { try read() }
    mutating func decode(_ type: Int64.Type) throws -> Int64 { try read() }
    mutating func decode(_ type: UInt.Type) throws -> UInt { try read() }
    mutating func decode(_ type: UInt8.Type) throws -> UInt8 { try read() }
    mutating func decode(_ type: UInt16.Type) throws -> UInt16 { try read() }
    mutating func decode(_ type: UInt32.Type) throws -> UInt32 { try read() }
    mutating func decode(_ type: UInt64.Type) throws -> UInt64 { try read() }

    @available(macOS 15, iOS 18, watchOS 11, tvOS 18, visionOS 2, *)
    mutating func decode(_ type: Int128.Type) throws -> Int128 { try read() }

    @available(macOS 15, iOS 18, watchOS 11, tvOS 18, visionOS 2, *)
    mutating func decode(_ type: UInt128.Type) throws -> UInt128 { try read() }
}
