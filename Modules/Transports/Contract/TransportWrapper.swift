public import MeshFoundation
public import MeshIdentity

/// A transport that wraps another one, for example to record its messages or to inject faults. The conforming type
/// implements only what it changes. This protocol forwards everything else.
///
/// ```swift
/// struct MutedTransport: TransportWrapper {
///     let wrapped: any SessionSyncTransport
///     func receiveSnapshotRequests() -> AsyncStream<SessionSnapshotRequest> { AsyncStream { $0.finish() } }
/// }
/// ```
///
/// To the implementer: a wrapper keeps every promise of the wrapped transport.
/// - A subscription must come from the wrapped transport; a wrapper may change elements as they pass. It must not read
///   envelopes ahead of its own subscribers: it would acknowledge them to their sender, and then lose those that
///   subscribers don't read.
/// - A wrapper that changes sends must implement both ways to send envelopes. Otherwise callers can bypass it.
///   `sendWithNext` isn't forwarded, so its envelopes come through `send`.
/// - A wrapper is done when the conformance rules of MeshTesting pass for it. See ``TransportFixture/wrapped(by:)``.
public protocol TransportWrapper: SessionSyncTransport {
    /// The transport to which everything is forwarded.
    var wrapped: any SessionSyncTransport { get }
}

extension TransportWrapper {
    public var localPeer: SessionPeer { wrapped.localPeer }
    public var knownPeers: [SessionPeer] { wrapped.knownPeers }
    public var capabilities: SessionTransportCapabilities { wrapped.capabilities }

    public func start() throws { try wrapped.start() }
    public var problems: [SessionProblem] { wrapped.problems }

    public func send(_ envelope: AnySessionSyncEnvelope, mode: SessionDeliveryMode, to peer: SessionPeer?) async throws
    {
        try await wrapped.send(envelope, mode: mode, to: peer)
    }
    public func send(
        _ envelopes: [AnySessionSyncEnvelope], mode: SessionDeliveryMode, to peer: SessionPeer?,
        isolation: isolated (any Actor)?
    ) async throws {
        try await wrapped.send(envelopes, mode: mode, to: peer, isolation: isolation)
    }
    public func sendSnapshot(
        _ snapshot: AnySessionSyncSnapshot, mode: SessionDeliveryMode, to peer: SessionPeer?
    ) async throws {
        try await wrapped.sendSnapshot(snapshot, mode: mode, to: peer)
    }
    public func requestSnapshot(sessionID: UUID, from peer: SessionPeer?) async throws {
        try await wrapped.requestSnapshot(sessionID: sessionID, from: peer)
    }
    @discardableResult
    public func cancel(eventID: UUID, featureID: String) -> Bool {
        wrapped.cancel(eventID: eventID, featureID: featureID)
    }
    public func isWaiting(eventID: UUID, featureID: String) -> Bool {
        wrapped.isWaiting(eventID: eventID, featureID: featureID)
    }
    public func expedite(eventID: UUID, featureID: String) {
        wrapped.expedite(eventID: eventID, featureID: featureID)
    }
    public var remainingWakes: Int? { wrapped.remainingWakes }
    public func admitGuests(_ peerIDs: Set<String>, toSession sessionID: UUID, featureID: String) {
        wrapped.admitGuests(peerIDs, toSession: sessionID, featureID: featureID)
    }
    public func isOwn(_ peerID: String) -> Bool { wrapped.isOwn(peerID) }
    public func revokedPeers() -> AsyncStream<Set<String>>? { wrapped.revokedPeers() }

    public func receiveEnvelopes() -> AsyncStream<AnySessionSyncEnvelope> { wrapped.receiveEnvelopes() }
    public func envelopeBatches(
        where isWanted: @escaping @Sendable (SessionSyncMetadata) -> Bool
    ) -> EnvelopeBatches {
        wrapped.envelopeBatches(where: isWanted)
    }
    public func receiveSnapshots() -> AsyncStream<AnySessionSyncSnapshot> { wrapped.receiveSnapshots() }
    public func receiveSnapshotRequests() -> AsyncStream<SessionSnapshotRequest> { wrapped.receiveSnapshotRequests() }
    public func reachabilityChanges() -> AsyncStream<SessionPeerReachability> { wrapped.reachabilityChanges() }

    public func latestPeerSnapshot(featureID: String) -> AnySessionSyncSnapshot? {
        wrapped.latestPeerSnapshot(featureID: featureID)
    }
    public func close() async { await wrapped.close() }
}
