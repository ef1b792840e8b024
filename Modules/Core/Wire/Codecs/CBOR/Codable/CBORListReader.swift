/// A list that is being read.
struct CBORListReader: UnkeyedDecodingContainer {
    private let state: UnsafeMutablePointer<CBORDecodeState>
    private let end: UInt32
    private let total: UInt32
    private var next: UInt32
    private var index: UInt32 = 0

    init(state: UnsafeMutablePointer<CBORDecodeState>, list: UInt32, head: CBORHead) {
        self.state = state
        end = state.pointee.index.entry(behind: list)
        total = UInt32(truncatingIfNeeded: state.pointee.index.count(of: list, head))
        next = list + 1
    }

    var codingPath: [any CodingKey] { [] }
    var count: Int? { Int(total) }
    var isAtEnd: Bool { next >= end }
    var currentIndex: Int { Int(index) }

    @inline(__always)
    private func entry() throws(WireError) -> UInt32 {
        guard _fastPath(next < end) else {
            throw WireError(.missingField, "the array has \(total) elements").within("\(index)")
        }
        return next
    }

    @inline(__always)
    private mutating func advance() {
        next = state.pointee.index.entry(behind: next)
        index &+= 1
    }

    @inline(__always)
    private mutating func read<Value: CBORScalar>() throws(WireError) -> Value {
        let entry = try entry()
        do throws(WireError) {
            let value = try Value.read(at: entry, of: state.pointee.index)
            advance()
            return value
        } catch {
            throw error.within("\(index)")
        }
    }

    mutating func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
        let entry = try entry()
        do {
            let value = try CBORDecodeState.decode(type, at: entry, in: state)
            advance()
            return value
        } catch {
            throw located(error)
        }
    }

    mutating func decodeNil() throws -> Bool {
        guard state.pointee.isNil(try entry()) else { return false }
        advance()
        return true
    }

    @inline(never)
    private func located(_ error: any Error) -> any Error { (error as? WireError)?.within("\(index)") ?? error }
}

// MARK: - Nested containers

extension CBORListReader {
    mutating func nestedContainer<NestedKey: CodingKey>(
        keyedBy type: NestedKey.Type
    ) throws -> KeyedDecodingContainer<NestedKey> {
        let decoder = CBORDecoder(state: state, entry: try entry())
        do {
            let container = try decoder.container(keyedBy: type)
            advance()
            return container
        } catch {
            throw located(error)
        }
    }

    mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
        let decoder = CBORDecoder(state: state, entry: try entry())
        do {
            let container = try decoder.unkeyedContainer()
            advance()
            return container
        } catch {
            throw located(error)
        }
    }

    mutating func superDecoder() throws -> any Decoder {
        let decoder = CBORDecoder(state: state, entry: try entry())
        advance()
        return decoder
    }
}

// MARK: - Scalars

extension CBORListReader {
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
