import Foundation
import MeshIdentity
import MeshWire

/// What is stored of a value: its bytes, and what is needed to read them.
struct KeyValue: Hashable {
    static let layout: UInt8 = 1
    /// The app's own bytes, as it gave them.
    static let rawCodec: UInt8 = 0

    var codec = rawCodec
    var schema: UInt32 = 1
    var bytes: Data

    init(codec: UInt8 = rawCodec, schema: UInt32 = 1, bytes: some Sequence<UInt8>) {
        self.codec = codec
        self.schema = schema
        self.bytes = Data(bytes)
    }

    /// - Throws: `WireError`; a layout that is not known here is `unsupportedVersion`.
    init(_ data: Data) throws {
        self = try data.withUnsafeBytes { buffer throws(WireError) in
            var reader = WireReader(buffer)
            let layout = try reader.readUInt8()
            guard layout == Self.layout else { throw WireError(.unsupportedVersion, "a value of layout \(layout)") }
            let codec = try reader.readUInt8()
            let schema = try reader.readVarint()
            guard schema <= UInt32.max else { throw WireError(.oversized, "schema \(schema)") }
            return KeyValue(codec: codec, schema: UInt32(schema), bytes: try reader.readRaw(reader.remaining))
        }
    }

    var data: Data {
        var writer = WireWriter(capacity: bytes.count + 8)
        writer.write(Self.layout)
        writer.write(codec)
        writer.writeVarint(UInt64(schema))
        bytes.withUnsafeBytes { writer.writeRaw($0) }
        return Data(writer.bytes)
    }
}

extension StorageKey {
    /// - Throws: what the codec throws.
    func encode(_ value: Value) throws -> Data {
        KeyValue(codec: codec.id.number, schema: schema, bytes: try codec.encode(value)).data
    }

    /// - Throws: `KeySyncError` with `unreadable`, `newerSchema` or `unknownCodec`.
    func decode(_ data: Data) throws(KeySyncError) -> Value {
        let stored: KeyValue
        do { stored = try KeyValue(data) } catch { throw KeySyncError(.unreadable(key: name), cause: error) }
        guard stored.schema <= schema else {
            throw KeySyncError(.newerSchema(key: name, schema: stored.schema))
        }
        guard let codec = codec(stored.codec) else {
            throw KeySyncError(.unknownCodec(key: name, number: stored.codec))
        }
        do {
            return try stored.bytes.withUnsafeBytes { try codec.decode(Value.self, from: $0) }
        } catch {
            throw KeySyncError(.unreadable(key: name), cause: error)
        }
    }

    private func codec(_ number: UInt8) -> (any PayloadCodec)? {
        switch number {
        case codec.id.number, KeyValue.rawCodec: codec
        case JSONCodec.id.number: JSONCodec()
        case CompactCodec.id.number: CompactCodec()
        case CBORCodec.id.number: CBORCodec()
        default: nil
        }
    }
}
