public import MeshDelivery
public import MeshIdentity
public import MeshTransport

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// One peer's end of a `ScenarioNetwork`: delivery over a `ScenarioLink`, in the network's time.
///
/// What each mode guarantees, and what sends throw, is `LinkTransport`'s. Safe to use from any thread.
public final class ScenarioSessionSyncTransport: SessionSyncTransport {
    /// All of it: health, options, diagnostics.
    public let delivery: LinkTransport

    init(_ delivery: LinkTransport) { self.delivery = delivery }

    public var localPeer: SessionPeer { delivery.localPeer }
    public var knownPeers: [SessionPeer] { delivery.knownPeers }
    public var capabilities: SessionTransportCapabilities { delivery.capabilities }

    public func send(_ envelope: AnySessionSyncEnvelope, mode: SessionDeliveryMode, to peer: SessionPeer?) async throws
    {
        try await delivery.send(envelope, mode: mode, to: peer)
    }

    public func sendSnapshot(
        _ snapshot: AnySessionSyncSnapshot, mode: SessionDeliveryMode, to peer: SessionPeer?
    ) async throws {
        try await delivery.sendSnapshot(snapshot, mode: mode, to: peer)
    }

    public func requestSnapshot(sessionID: UUID, from peer: SessionPeer?) async throws {
        try await delivery.requestSnapshot(sessionID: sessionID, from: peer)
    }

    public func receiveEnvelopes() -> AsyncStream<AnySessionSyncEnvelope> { delivery.receiveEnvelopes() }
    public func receiveEnvelopeBatches() -> AsyncStream<[AnySessionSyncEnvelope]> { delivery.receiveEnvelopeBatches() }
    public func receiveSnapshots() -> AsyncStream<AnySessionSyncSnapshot> { delivery.receiveSnapshots() }
    public func receiveSnapshotRequests() -> AsyncStream<SessionSnapshotRequest> { delivery.receiveSnapshotRequests() }
    public func reachabilityChanges() -> AsyncStream<SessionPeerReachability> { delivery.reachabilityChanges() }

    public func latestPeerSnapshot(featureID: String) -> AnySessionSyncSnapshot? {
        delivery.latestPeerSnapshot(featureID: featureID)
    }

    public func close() async { await delivery.close() }
}
