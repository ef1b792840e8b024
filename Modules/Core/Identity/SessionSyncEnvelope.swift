/// An event with its author, moment and session, as it is sent between peers.
///
/// ```swift
/// let envelope = try session.submit(.home)
/// envelope.payload                                      // .home
/// envelope.metadata.sourcePeerID                        // this device's ID
/// session.delivery(of: envelope).step                   // .accepted, later .held, then .confirmed
/// ```
public struct SessionSyncEnvelope<Payload: Codable & Sendable>: Sendable, Codable {
    /// The event's author, moment and session.
    public var metadata: SessionSyncMetadata
    /// The event or other value that the envelope carries.
    public var payload: Payload

    /// Creates an envelope from parts that match: `metadata.payloadType` names the payload's type.
    @inlinable
    public init(metadata: SessionSyncMetadata, payload: Payload) {
        self.metadata = metadata
        self.payload = payload
    }
}

extension SessionSyncEnvelope: Equatable where Payload: Equatable {}
extension SessionSyncEnvelope: Hashable where Payload: Hashable {}

/// The complete state as one peer sees it now.
public struct SessionSyncSnapshot<State: Codable & Sendable>: Sendable, Codable {
    /// The snapshot's author, moment and session. Its `sequence` is the sender's next one, which `state` doesn't
    /// include.
    public var metadata: SessionSyncMetadata
    /// The revision, which grows with every snapshot that this peer sends.
    public var revision: UInt64
    /// The complete state of the feature.
    public var state: State
    /// The last sequence of each peer that the state includes.
    public var peerSequenceVector: [String: UInt64]

    /// Creates a snapshot from parts that match: the vector lists the events that `state` includes.
    public init(
        metadata: SessionSyncMetadata, revision: UInt64, state: State, peerSequenceVector: [String: UInt64]
    ) {
        self.metadata = metadata
        self.revision = revision
        self.state = state
        self.peerSequenceVector = peerSequenceVector
    }
}

extension SessionSyncSnapshot: Equatable where State: Equatable {}
extension SessionSyncSnapshot: Hashable where State: Hashable {}
