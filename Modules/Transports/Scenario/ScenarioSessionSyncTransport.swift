import MeshBus
public import MeshIdentity
public import MeshTransport

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// One peer's end of a `ScenarioNetwork`.
///
/// Values pass as they are and are never encoded, unless a budget asks for their size. `realtimeBestEffort`,
/// `snapshotRequest` and `acknowledgement` obey the link's faults and go to peers that are said to be reachable;
/// `reliableEventually` waits for them, bounded by the network's `queueLimit`; `latestSnapshot` is for snapshots only.
/// Safe to use from any thread.
public final class ScenarioSessionSyncTransport: SessionSyncTransport {
    public let localPeer: SessionPeer
    public let network: ScenarioNetwork
    let inbox: TransportInbox
    private let budget: PayloadBudget?

    init(localPeer: SessionPeer, network: ScenarioNetwork, budget: PayloadBudget?, inbox: TransportInbox) {
        self.localPeer = localPeer
        self.network = network
        self.budget = budget
        self.inbox = inbox
    }

    /// Everybody else who has ever joined, in that order.
    public var knownPeers: [SessionPeer] { network.knownPeers(of: localPeer.id) }

    public var capabilities: SessionTransportCapabilities {
        SessionTransportCapabilities(
            supportsRealtime: true, supportsDurableQueue: true, supportsLatestStateReplacement: true,
            supportsRequestReply: true, supportsBroadcast: true, supportsPeerDiscovery: true,
            maximumPayloadSize: budget?.limit.bytes, expectedLatency: .interactive)
    }

    /// - Throws: `SessionSyncError` with `closed`, `unknownPeer`, `payloadTooLarge`, `notReachable`, `queueFull`, or
    ///   `unsupportedDeliveryMode` for an envelope as `latestSnapshot`.
    public func send(_ envelope: AnySessionSyncEnvelope, mode: SessionDeliveryMode, to peer: SessionPeer?) async throws
    {
        try Task.checkCancellation()
        try budget?.check(envelope)
        try network.accept(.envelope(envelope), mode: mode, from: self, to: peer)
    }

    /// - Throws: `SessionSyncError` with `closed`, `unknownPeer`, `payloadTooLarge`, `notReachable` or `queueFull`.
    public func sendSnapshot(
        _ snapshot: AnySessionSyncSnapshot, mode: SessionDeliveryMode, to peer: SessionPeer?
    ) async throws {
        try Task.checkCancellation()
        try budget?.check(snapshot)
        try network.accept(.snapshot(snapshot), mode: mode, from: self, to: peer)
    }

    /// - Throws: `SessionSyncError` with `closed`, `unknownPeer` or `notReachable`.
    public func requestSnapshot(sessionID: UUID, from peer: SessionPeer?) async throws {
        try Task.checkCancellation()
        let request = SessionSnapshotRequest(sessionID: sessionID, requester: localPeer)
        try network.accept(.request(request), mode: .snapshotRequest, from: self, to: peer)
    }

    public func receiveEnvelopes() -> AsyncStream<AnySessionSyncEnvelope> { inbox.receiveEnvelopes() }
    public func receiveEnvelopeBatches() -> AsyncStream<[AnySessionSyncEnvelope]> { inbox.receiveEnvelopeBatches() }
    public func receiveSnapshots() -> AsyncStream<AnySessionSyncSnapshot> { inbox.receiveSnapshots() }
    public func receiveSnapshotRequests() -> AsyncStream<SessionSnapshotRequest> { inbox.receiveSnapshotRequests() }
    public func reachabilityChanges() -> AsyncStream<SessionPeerReachability> { inbox.reachabilityChanges() }

    public func latestPeerSnapshot(featureID: String) -> AnySessionSyncSnapshot? {
        inbox.latestSnapshot(featureID: featureID)
    }

    /// What was accepted before is under way and still arrives.
    public func close() async {
        network.leave(self)
        inbox.close()
    }
}
