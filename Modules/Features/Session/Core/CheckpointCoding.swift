import MeshEngine
import MeshIdentity
import MeshWire

/// Encodes a snapshot's opaque section: the codec's number, then a `SessionCheckpoint` in that codec.
struct CheckpointCoding: Sendable {
    let codec: any PayloadCodec

    func bytes<State, Event>(of checkpoint: SessionCheckpoint<State, Event>) throws -> [UInt8] {
        [codec.id.number] + (try codec.encode(checkpoint))
    }

    /// Decodes a checkpoint. Throws the codec's errors; `SessionSyncError.payloadDecodingFailed` for an unknown codec.
    func checkpoint<State, Event>(
        _ type: SessionCheckpoint<State, Event>.Type = SessionCheckpoint<State, Event>.self, from bytes: [UInt8]
    ) throws -> SessionCheckpoint<State, Event> {
        let known: [any PayloadCodec] = [codec, CompactCodec()]
        guard let codec = known.first(where: { $0.id.number == bytes.first }) else {
            throw SessionSyncError.payloadDecodingFailed(
                payloadType: "checkpoint", description: PayloadCodecID.unknown(bytes.first ?? 0))
        }
        return try bytes.withUnsafeBytes { try codec.decode(type, from: UnsafeRawBufferPointer(rebasing: $0[1...])) }
    }
}

extension AnySessionSyncSnapshot {
    /// True if decoding would block the main actor for too long.
    var isLarge: Bool { (encodedByteCount ?? 0) + (checkpoint?.count ?? 0) > 32 << 10 }
}
