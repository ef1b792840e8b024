public import MeshBase
public import MeshIdentity

/// The size check before a send. A transport with a limit calls it before it accepts a message.
///
/// Counts the payload as `codec` writes it, before any compression. For a snapshot, the engine's checkpoint counts too.
/// Encodes payloads that aren't encoded yet, so a check costs up to one encoding.
public struct PayloadBudget: Sendable {
    /// Maximum size of an encoded payload.
    public let limit: PayloadLimit
    /// The codec for payloads that aren't encoded yet.
    public let codec: any PayloadCodec

    /// Creates a check against one limit.
    public init(limit: PayloadLimit, codec: any PayloadCodec) {
        self.limit = limit
        self.codec = codec
    }

    /// Checks an envelope's payload against the limit, encoding it if it has no bytes yet.
    ///
    /// - Throws: `SessionSyncError.payloadTooLarge` with the limit's id, or `payloadEncodingFailed`.
    public func check(_ envelope: AnySessionSyncEnvelope) throws {
        try check(byteCount: envelope.encodedPayload(with: codec).bytes.count)
    }

    /// Checks a snapshot's state and checkpoint together against the limit.
    ///
    /// - Throws: `SessionSyncError.payloadTooLarge` with the limit's id, or `payloadEncodingFailed`.
    public func check(_ snapshot: AnySessionSyncSnapshot) throws {
        let state = try snapshot.encodedState(with: codec).bytes.count
        try check(byteCount: state + (snapshot.checkpoint?.count ?? 0))
    }

    /// Checks a number of bytes against the limit.
    ///
    /// - Throws: `SessionSyncError.payloadTooLarge` with the limit's id.
    public func check(byteCount: Int) throws(SessionSyncError) {
        guard byteCount <= limit.bytes else {
            throw .payloadTooLarge(bytes: byteCount, limit: limit.bytes, limitID: limit.id)
        }
    }
}
