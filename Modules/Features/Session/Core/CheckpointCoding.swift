import MeshEngine
import MeshIdentity
import MeshWire

/// The opaque section of a snapshot: the number of the codec, then a `SessionCheckpoint` as that codec writes it.
struct CheckpointCoding: Sendable {
    let codec: any PayloadCodec

    func bytes<State, Event>(of checkpoint: SessionCheckpoint<State, Event>) throws -> [UInt8] {
        [codec.id.number] + (try codec.encode(checkpoint))
    }

    /// - Throws: what the codec throws; `SessionSyncError.payloadDecodingFailed` for a codec that is not known here.
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
    /// Whether to read it would hold up the main actor.
    var isLarge: Bool { (encodedByteCount ?? 0) + (checkpoint?.count ?? 0) > 32 << 10 }
}
