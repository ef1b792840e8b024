#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// What one call of `decode` works with.
struct CBORDecodeState: ~Copyable {
    let index: CBORIndex
    var forms = CBORForms()
    /// The map in which no key is a case of the enum that looked for one, and the first key there.
    var unknownCase: (map: UInt32, name: String)?

    init(index: consuming CBORIndex) { self.index = index }

    /// Reads a value of any type.
    @inline(__always)
    static func decode<Value: Decodable>(
        _ type: Value.Type, at entry: UInt32, in state: UnsafeMutablePointer<CBORDecodeState>
    ) throws -> Value {
        switch state.pointee.forms[Value.self] {
        case .scalar(let scalar): try read(scalar, at: entry, in: state)
        case .list(let list): try readList(list, at: entry, in: state)
        case .link: try readLink(type, at: entry, in: state)
        case .codable: try decodeCodable(type, at: entry, in: state)
        }
    }

    /// - Parameter type: `Value` itself.
    @inline(__always)
    private static func read<Value, Scalar: CBORScalar>(
        _ type: Scalar.Type, at entry: UInt32, in state: UnsafeMutablePointer<CBORDecodeState>
    ) throws(WireError) -> Value {
        let value = try Scalar.read(at: entry, of: state.pointee.index)
        return withUnsafePointer(to: value) { UnsafeRawPointer($0).assumingMemoryBound(to: Value.self).pointee }
    }

    /// - Parameter type: `Value` itself.
    private static func readList<Value, List: CBORScalarList>(
        _ type: List.Type, at entry: UInt32, in state: UnsafeMutablePointer<CBORDecodeState>
    ) throws(WireError) -> Value {
        let value = try List.readList(at: entry, of: state.pointee.index)
        return withUnsafePointer(to: value) { UnsafeRawPointer($0).assumingMemoryBound(to: Value.self).pointee }
    }

    private static func readLink<Value: Decodable>(
        _ type: Value.Type, at entry: UInt32, in state: UnsafeMutablePointer<CBORDecodeState>
    ) throws -> Value {
        let value = try state.pointee.index.value(at: entry)
        switch value.head.major {
        case .map: return try decodeCodable(type, at: entry, in: state)
        case .text:
            guard let link = try value.link() as? Value else { throw value.mismatch(type) }
            return link
        default: throw value.mismatch(type)
        }
    }

    /// Runs the type's own `init(from:)`.
    @inline(__always)
    private static func decodeCodable<Value: Decodable>(
        _ type: Value.Type, at entry: UInt32, in state: UnsafeMutablePointer<CBORDecodeState>
    ) throws -> Value {
        do {
            return try Value(from: CBORDecoder(state: state, entry: entry))
        } catch let error as DecodingError {
            // An enum says only that it found none of its cases.
            guard let unknown = state.pointee.unknownCase, unknown.map == entry else { throw error }
            throw WireError.unknownCase(unknown.name, keys: Value.self)
        }
    }
}

/// What a type's `init(from:)` gets. Coding paths are not tracked; errors name where they were met.
struct CBORDecoder: Decoder {
    let state: UnsafeMutablePointer<CBORDecodeState>
    let entry: UInt32

    var codingPath: [any CodingKey] { [] }
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
        let value = try state.pointee.index.value(at: entry)
        guard value.head.major == .map else { throw mismatch(value, "map") }
        return KeyedDecodingContainer(CBORKeyedReader(state: state, map: entry))
    }

    func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
        let value = try state.pointee.index.value(at: entry)
        guard value.head.major == .list else { throw mismatch(value, "array") }
        return CBORListReader(state: state, list: entry, head: value.head)
    }

    func singleValueContainer() -> any SingleValueDecodingContainer { CBORSingleReader(state: state, entry: entry) }

    private func mismatch(_ value: CBORValue, _ wanted: String) -> WireError {
        WireError(.typeMismatch, "\(value.name) where a \(wanted) is asked for")
    }
}

// MARK: - Single values

struct CBORSingleReader: SingleValueDecodingContainer {
    let state: UnsafeMutablePointer<CBORDecodeState>
    let entry: UInt32

    var codingPath: [any CodingKey] { [] }

    func decodeNil() -> Bool { state.pointee.isNil(entry) }

    func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
        try CBORDecodeState.decode(type, at: entry, in: state)
    }

    @inline(__always)
    private func read<Value: CBORScalar>() throws -> Value { try Value.read(at: entry, of: state.pointee.index) }

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
}

extension CBORDecodeState {
    @inline(__always)
    func isNil(_ entry: UInt32) -> Bool { (try? index.value(at: entry).head.isNil) ?? false }
}
