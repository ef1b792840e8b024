/// An envelope with an erased payload type: the form that transports carry.
public struct AnySessionSyncEnvelope: Sendable {
    /// The event's author, moment and session.
    public var metadata: SessionSyncMetadata
    private let payload: ErasedPayload

    /// Wraps an envelope with a payload of any type. A transport encodes the payload later, with its own codec, and
    /// gets the encoding errors then. This initializer throws nothing today.
    public init<Payload>(_ envelope: SessionSyncEnvelope<Payload>) throws {
        metadata = envelope.metadata
        payload = ErasedPayload(envelope.payload)
    }

    /// Wraps an envelope whose payload has been encoded.
    /// - Parameter encoded: the payload in one codec. A transport that writes that codec sends these bytes.
    package init<Payload>(_ envelope: SessionSyncEnvelope<Payload>, encoded: EncodedPayload) {
        metadata = envelope.metadata
        payload = ErasedPayload(envelope.payload, encoded: encoded)
    }

    /// Creates an envelope from metadata and an encoded payload, as a transport receives them.
    public init(metadata: SessionSyncMetadata, payload: EncodedPayload) {
        self.metadata = metadata
        self.payload = ErasedPayload(payload)
    }

    /// Decodes the payload as the given type.
    ///
    /// - Throws: `SessionSyncError.payloadDecodingFailed`.
    public func decodePayload<Payload: Codable & Sendable>(as type: Payload.Type) throws -> Payload {
        try payload.decoded(as: type, type: metadata.payloadType)
    }

    /// The size of the payload in bytes, if it arrived encoded; otherwise nil.
    package var encodedByteCount: Int? { payload.encodedByteCount }

    /// Returns the payload's bytes: as they arrived, or else encoded with `codec`.
    /// - Throws: `SessionSyncError.payloadEncodingFailed`.
    public func encodedPayload(with codec: any PayloadCodec) throws -> EncodedPayload {
        try payload.encoded(with: codec, type: metadata.payloadType)
    }
}

/// A snapshot with an erased state type: the form that transports carry.
public struct AnySessionSyncSnapshot: Sendable {
    /// The snapshot's author, moment and session.
    public var metadata: SessionSyncMetadata
    /// The snapshot's revision, which its sender counts; see ``SessionSyncSnapshot/revision``.
    public var revision: UInt64
    /// The last sequence of each peer that the state includes.
    public var peerSequenceVector: [String: UInt64]
    /// The bytes that the sender's engine adds for other engines. Transports don't read them.
    public var checkpoint: [UInt8]?
    private let state: ErasedPayload

    /// Wraps a snapshot with a state of any type. A transport encodes the state later, with its own codec, and gets the
    /// encoding errors then. This initializer throws nothing today.
    public init<State>(_ snapshot: SessionSyncSnapshot<State>) throws {
        metadata = snapshot.metadata
        revision = snapshot.revision
        peerSequenceVector = snapshot.peerSequenceVector
        state = ErasedPayload(snapshot.state)
    }

    /// Creates a snapshot from the fields that a transport receives.
    public init(
        metadata: SessionSyncMetadata, revision: UInt64, peerSequenceVector: [String: UInt64], state: EncodedPayload,
        checkpoint: [UInt8]? = nil
    ) {
        self.metadata = metadata
        self.revision = revision
        self.peerSequenceVector = peerSequenceVector
        self.checkpoint = checkpoint
        self.state = ErasedPayload(state)
    }

    /// Decodes the state as the given type.
    ///
    /// - Throws: `SessionSyncError.payloadDecodingFailed`.
    public func decodeState<State: Codable & Sendable>(as type: State.Type) throws -> State {
        try state.decoded(as: type, type: metadata.payloadType)
    }

    /// The size of the state in bytes, if it arrived encoded; otherwise nil.
    package var encodedByteCount: Int? { state.encodedByteCount }

    /// Returns the state's bytes: as they arrived, or else encoded with `codec`.
    /// - Throws: `SessionSyncError.payloadEncodingFailed`.
    public func encodedState(with codec: any PayloadCodec) throws -> EncodedPayload {
        try state.encoded(with: codec, type: metadata.payloadType)
    }
}
