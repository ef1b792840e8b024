/// A map that is being read, its values by their keys.
struct CBORKeyedReader<Key: CodingKey>: KeyedDecodingContainerProtocol {
    let state: UnsafeMutablePointer<CBORDecodeState>
    let map: UInt32

    var codingPath: [any CodingKey] { [] }

    @inline(__always)
    private func entry(_ key: Key) throws(WireError) -> UInt32 {
        guard let entry = state.pointee.index.find(key, in: map) else { throw .missing(key) }
        return entry
    }

    @inline(__always)
    private func read<Value: CBORScalar>(_ key: Key) throws(WireError) -> Value {
        do throws(WireError) {
            return try Value.read(at: try entry(key), of: state.pointee.index)
        } catch {
            throw error.within(key.stringValue)
        }
    }

    func decode<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value {
        do {
            return try CBORDecodeState.decode(type, at: try entry(key), in: state)
        } catch {
            throw located(error, key)
        }
    }

    func decodeIfPresent<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value? {
        guard let entry = state.pointee.index.find(key, in: map), !state.pointee.isNil(entry) else { return nil }
        do {
            return try CBORDecodeState.decode(type, at: entry, in: state)
        } catch {
            throw located(error, key)
        }
    }

    func contains(_ key: Key) -> Bool { state.pointee.index.find(key, in: map) != nil }

    func decodeNil(forKey key: Key) throws -> Bool {
        do throws(WireError) {
            return state.pointee.isNil(try entry(key))
        } catch {
            throw error.within(key.stringValue)
        }
    }

    var allKeys: [Key] {
        var keys: [Key] = []
        var unknown: String?
        var entry = map + 2
        let end = state.pointee.index.entry(behind: map)
        while entry < end {
            if let name = state.pointee.index.key(at: entry) {
                if let key = name.key(Key.self) {
                    keys.append(key)
                } else if unknown == nil {
                    unknown = name.description
                }
            }
            entry = state.pointee.index.entry(behind: state.pointee.index.entry(behind: entry))
        }
        state.pointee.unknownCase = keys.isEmpty ? unknown.map { (map, $0) } : nil
        return keys
    }

    @inline(never)
    private func located(_ error: any Error, _ key: Key) -> any Error {
        (error as? WireError)?.within(key.stringValue) ?? error
    }
}

/// A key that Codable can have.
enum CBORKey: CustomStringConvertible {
    case name(String)
    case number(Int)

    func key<Key: CodingKey>(_ type: Key.Type) -> Key? {
        switch self {
        case .name(let name): Key(stringValue: name)
        case .number(let number): Key(intValue: number)
        }
    }

    var description: String {
        switch self {
        case .name(let name): name
        case .number(let number): "\(number)"
        }
    }
}

extension CBORIndex {
    /// Nil for keys that are neither texts nor integers of 64 bits.
    func key(at entry: UInt32) -> CBORKey? {
        guard let value = try? value(at: entry), value.tag == nil else { return nil }
        switch value.head.major {
        case .text: return (try? value.text()).map { .name($0) }
        case .unsigned: return Int(exactly: value.head.argument).map { .number($0) }
        case .negative: return Int(exactly: value.head.argument).map { .number(~$0) }
        default: return nil
        }
    }
}

// MARK: - Nested containers

extension CBORKeyedReader {
    func nestedContainer<NestedKey: CodingKey>(
        keyedBy type: NestedKey.Type, forKey key: Key
    ) throws -> KeyedDecodingContainer<NestedKey> {
        do { return try decoder(key).container(keyedBy: type) } catch { throw located(error, key) }
    }

    func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
        do { return try decoder(key).unkeyedContainer() } catch { throw located(error, key) }
    }

    func superDecoder() throws -> any Decoder {
        guard let entry = state.pointee.index.find(SuperKey(), in: map) else { throw WireError.missing(SuperKey()) }
        return CBORDecoder(state: state, entry: entry)
    }

    func superDecoder(forKey key: Key) throws -> any Decoder {
        do { return try decoder(key) } catch { throw located(error, key) }
    }

    private func decoder(_ key: Key) throws(WireError) -> CBORDecoder {
        CBORDecoder(state: state, entry: try entry(key))
    }
}

private struct SuperKey: CodingKey {
    var stringValue: String { "super" }
    var intValue: Int? { nil }

    init() {}
    init?(stringValue: String) { nil }
    init?(intValue: Int) { nil }
}

// MARK: - Scalars

extension CBORKeyedReader {
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
