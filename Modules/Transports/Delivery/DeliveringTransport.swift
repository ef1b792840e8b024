public import MeshBus
public import MeshIdentity
public import MeshTransport

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// A transport that is a `LinkTransport` under a name and with initializers of its own. All but `delivery` is given.
public protocol DeliveringTransport: SessionSyncTransport {
    /// Whose methods these are, with what they guarantee and throw.
    var delivery: LinkTransport { get }
}

extension DeliveringTransport {
    public var localPeer: SessionPeer { delivery.localPeer }
    public var knownPeers: [SessionPeer] { delivery.knownPeers }
    public var capabilities: SessionTransportCapabilities { delivery.capabilities }
    /// The largest payload, as the link allows it.
    public var payloadLimit: PayloadLimit? { delivery.payloadLimit }

    public func close() async { await delivery.close() }

    /// See ``LinkTransport/health(of:)``.
    public func health(of peer: SessionPeer) -> DeliveryHealth? { delivery.health(of: peer) }
    /// See ``LinkTransport/roundTrip(to:)``.
    public func roundTrip(to peer: SessionPeer) -> Duration? { delivery.roundTrip(to: peer) }
    /// See ``LinkTransport/diagnosticEvents()``.
    public func diagnosticEvents() -> AsyncStream<SessionDiagnosticEvent> { delivery.diagnosticEvents() }
    /// See ``LinkTransport/forget(_:)``.
    public func forget(_ peer: SessionPeer) { delivery.forget(peer) }

    public func send(_ envelope: AnySessionSyncEnvelope, mode: SessionDeliveryMode, to peer: SessionPeer?) async throws
    {
        try await delivery.send(envelope, mode: mode, to: peer)
    }

    public func send(
        _ envelopes: [AnySessionSyncEnvelope], mode: SessionDeliveryMode, to peer: SessionPeer?
    ) async throws {
        try await delivery.send(envelopes, mode: mode, to: peer)
    }

    /// See `LinkTransport`.
    public func send(
        _ envelope: AnySessionSyncEnvelope, mode: SessionDeliveryMode, to peer: SessionPeer?, options: DeliveryOptions
    ) async throws {
        try await delivery.send(envelope, mode: mode, to: peer, options: options)
    }

    public func sendAtOnce(
        _ envelopes: [AnySessionSyncEnvelope], mode: SessionDeliveryMode, to peer: SessionPeer?
    ) throws -> Int {
        try delivery.sendAtOnce(envelopes, mode: mode, to: peer)
    }

    public func sendSnapshot(
        _ snapshot: AnySessionSyncSnapshot, mode: SessionDeliveryMode, to peer: SessionPeer?
    ) async throws {
        try await delivery.sendSnapshot(snapshot, mode: mode, to: peer)
    }

    public func requestSnapshot(sessionID: UUID, from peer: SessionPeer?) async throws {
        try await delivery.requestSnapshot(sessionID: sessionID, from: peer)
    }

    @discardableResult
    public func cancel(eventID: UUID, featureID: String) -> Bool {
        delivery.cancel(eventID: eventID, featureID: featureID)
    }

    public func admitGuests(_ peerIDs: Set<String>, toSession sessionID: UUID, featureID: String) {
        delivery.admitGuests(peerIDs, toSession: sessionID, featureID: featureID)
    }

    public func receiveEnvelopes() -> AsyncStream<AnySessionSyncEnvelope> { delivery.receiveEnvelopes() }
    public func receiveEnvelopeBatches() -> AsyncStream<[AnySessionSyncEnvelope]> { delivery.receiveEnvelopeBatches() }
    public func receiveEnvelopeBatches(
        where isWanted: @escaping @Sendable (SessionSyncMetadata) -> Bool
    ) -> AsyncStream<[AnySessionSyncEnvelope]> {
        delivery.receiveEnvelopeBatches(where: isWanted)
    }
    public func envelopeBatches(
        where isWanted: @escaping @Sendable (SessionSyncMetadata) -> Bool
    ) -> EnvelopeBatches {
        delivery.envelopeBatches(where: isWanted)
    }
    public func receiveSnapshots() -> AsyncStream<AnySessionSyncSnapshot> { delivery.receiveSnapshots() }
    public func receiveSnapshotRequests() -> AsyncStream<SessionSnapshotRequest> { delivery.receiveSnapshotRequests() }
    public func reachabilityChanges() -> AsyncStream<SessionPeerReachability> { delivery.reachabilityChanges() }

    public func latestPeerSnapshot(featureID: String) -> AnySessionSyncSnapshot? {
        delivery.latestPeerSnapshot(featureID: featureID)
    }
}
