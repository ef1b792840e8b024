import MeshEngine
import MeshIdentity
import MeshWire

/// The number of a codec, then a copy as that codec writes it: a `SessionCheckpoint` as the opaque section of a snapshot,
/// or a `WholeCopy` that travels in pieces.
struct CheckpointCoding: Sendable {
    let codec: any PayloadCodec

    func bytes<Value: Encodable>(of copy: Value) throws -> [UInt8] { [codec.id.number] + (try codec.encode(copy)) }

    /// - Throws: what the codec throws; `SessionSyncError.payloadDecodingFailed` for a codec that is not known here.
    func value<Value: Decodable>(_ type: Value.Type, from bytes: [UInt8]) throws -> Value {
        let known: [any PayloadCodec] = [codec, CompactCodec()]
        guard let codec = known.first(where: { $0.id.number == bytes.first }) else {
            throw SessionSyncError.payloadDecodingFailed(
                payloadType: "checkpoint", description: "codec \(bytes.first ?? 0) is not known here")
        }
        return try bytes.withUnsafeBytes { try codec.decode(type, from: UnsafeRawBufferPointer(rebasing: $0[1...])) }
    }
}
