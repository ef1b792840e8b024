import Foundation
import MeshIdentity
import MeshWire

/// A stored value: its bytes, and the codec and schema to read them with.
struct KeyValue: Hashable {
    static let layout: UInt8 = 1
    /// The codec number of the app's own bytes.
    static let rawCodec: UInt8 = 0

    var codec = rawCodec
    var schema: UInt32 = 1
    var bytes: Data

    var data: Data { bytes.withUnsafeBytes { Header(codec: codec, schema: schema, bytes: $0).data } }

    /// A view of a value whose bytes aren't copied. Valid while the buffer is.
    struct Header {
        var codec: UInt8
        var schema: UInt32
        var bytes: UnsafeRawBufferPointer

        var data: Data {
            var writer = WireWriter(capacity: bytes.count + 8)
            writer.write(KeyValue.layout)
            writer.write(codec)
            writer.writeVarint(UInt64(schema))
            writer.writeRaw(bytes)
            return Data(writer.bytes)
        }
    }
}

extension KeyValue {
    /// - Throws: `WireError`, with `unsupportedVersion` for an unknown layout.
    init(_ data: Data) throws {
        self = try data.withUnsafeBytes { buffer in
            let header = try Header(buffer)
            return KeyValue(codec: header.codec, schema: header.schema, bytes: Data(header.bytes))
        }
    }
}

extension KeyValue.Header {
    /// - Throws: `WireError`, with `unsupportedVersion` for an unknown layout.
    init(_ buffer: UnsafeRawBufferPointer) throws(WireError) {
        var reader = WireReader(buffer)
        let layout = try reader.readUInt8()
        guard layout == KeyValue.layout else {
            throw WireError(
                .unsupportedVersion, "the value has layout \(layout); this version reads \(KeyValue.layout)")
        }
        let codec = try reader.readUInt8()
        let schema = try reader.readVarint()
        guard schema <= UInt32.max else { throw WireError(.oversized, "schema \(schema) exceeds 32 bits") }
        self.init(codec: codec, schema: UInt32(schema), bytes: try reader.readRaw(reader.remaining))
    }
}

extension StorageKey {
    /// - Throws: an error of the codec.
    func encode(_ value: Value) throws -> Data {
        let data = try codec.encode(value).withUnsafeBytes {
            KeyValue.Header(codec: codec.id.number, schema: schema, bytes: $0).data
        }
        CodingLoss.report(from: value, to: try decode(data), in: "the key '\(name)'")
        return data
    }

    func change(to data: Data, isDefault: @escaping @Sendable () -> Bool = { false }) -> KeyBatch.Change {
        .init(name: name, rule: rule, data: data, isEqual: { isEqual($0, data) }, isDefault: isDefault)
    }

    /// Returns true if both are the same value. Sets and dictionaries may be encoded in different orders.
    func isEqual(_ left: Data, _ right: Data) -> Bool {
        if left == right { return true }
        guard let (left, right) = try? (canonical(left), canonical(right)) else { return false }
        return left == right
    }

    /// Returns a canonical encoding. Includes the schema, because storing an equal value with a higher schema is a
    /// change.
    private func canonical(_ data: Data) throws -> Data {
        let schema = try KeyValue(data).schema
        let bytes = try CompactCodec(mode: .deterministic).encode(decode(data))
        return KeyValue(schema: schema, bytes: Data(bytes)).data
    }

    /// - Throws: `KeySyncError` with `unreadable`, `newerSchema` or `unknownCodec`.
    func decode(_ data: Data) throws(KeySyncError) -> Value {
        do {
            return try data.withUnsafeBytes { buffer in
                let stored = try KeyValue.Header(buffer)
                guard stored.schema <= schema else {
                    throw KeySyncError(.newerSchema(key: name, schema: stored.schema))
                }
                guard let codec = codec(stored.codec) else {
                    throw KeySyncError(.unknownCodec(key: name, number: stored.codec))
                }
                return try codec.decode(Value.self, from: stored.bytes)
            }
        } catch let error as KeySyncError {
            throw error
        } catch {
            throw KeySyncError(.unreadable(key: name), cause: error)
        }
    }

    private func codec(_ number: UInt8) -> (any PayloadCodec)? {
        switch number {
        case codec.id.number, KeyValue.rawCodec: codec
        case JSONCodec.id.number: JSONCodec()
        case CompactCodec.id.number: CompactCodec()
        default: nil
        }
    }
}
