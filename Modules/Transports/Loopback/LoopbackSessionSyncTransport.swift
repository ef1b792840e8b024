import MeshBus
public import MeshIdentity
public import MeshTransport

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// Own sends come back at once: a whole session in one process, for previews and tests.
///
/// Values pass as they are and are never encoded, unless a budget asks for their size. It knows no peer but itself, so
/// `knownPeers` is empty and a send may name the local peer only. Safe to use from any thread.
public final class LoopbackSessionSyncTransport: SessionSyncTransport {
    public let localPeer: SessionPeer
    private let budget: PayloadBudget?
    private let inbox: TransportInbox
    private let isClosed = Locked(false)

    /// - Parameters:
    ///   - budget: refuses larger payloads; nil carries any size.
    ///   - bufferLimit: elements that wait for one slow subscriber; see `TransportInbox`.
    public init(localPeer: SessionPeer, budget: PayloadBudget? = nil, bufferLimit: Int = 4096) {
        self.localPeer = localPeer
        self.budget = budget
        inbox = TransportInbox(bufferLimit: bufferLimit)
    }

    public var knownPeers: [SessionPeer] { [] }

    public var capabilities: SessionTransportCapabilities {
        SessionTransportCapabilities(
            supportsRealtime: true, supportsDurableQueue: true, supportsLatestStateReplacement: true,
            supportsRequestReply: true, supportsBroadcast: true, supportsPeerDiscovery: false,
            maximumPayloadSize: budget?.limit.bytes, expectedLatency: .realtime)
    }

    /// - Throws: `SessionSyncError` with `closed`, `unknownPeer`, `payloadTooLarge`, or `unsupportedDeliveryMode` for an
    ///   envelope as `latestSnapshot`.
    public func send(_ envelope: AnySessionSyncEnvelope, mode: SessionDeliveryMode, to peer: SessionPeer?) async throws
    {
        try admit(peer)
        guard mode != .latestSnapshot else { throw SessionSyncError.unsupportedDeliveryMode }
        try budget?.check(envelope)
        inbox.deliver(envelope)
    }

    /// - Throws: `SessionSyncError` with `closed`, `unknownPeer` or `payloadTooLarge`.
    public func sendSnapshot(
        _ snapshot: AnySessionSyncSnapshot, mode: SessionDeliveryMode, to peer: SessionPeer?
    ) async throws {
        try admit(peer)
        try budget?.check(snapshot)
        inbox.deliver(snapshot)
    }

    /// The request comes back with the local peer as its requester.
    /// - Throws: `SessionSyncError` with `closed` or `unknownPeer`.
    public func requestSnapshot(sessionID: UUID, from peer: SessionPeer?) async throws {
        try admit(peer)
        inbox.deliver(SessionSnapshotRequest(sessionID: sessionID, requester: localPeer))
    }

    public func receiveEnvelopes() -> AsyncStream<AnySessionSyncEnvelope> { inbox.receiveEnvelopes() }
    public func receiveEnvelopeBatches() -> AsyncStream<[AnySessionSyncEnvelope]> { inbox.receiveEnvelopeBatches() }
    public func receiveSnapshots() -> AsyncStream<AnySessionSyncSnapshot> { inbox.receiveSnapshots() }
    public func receiveSnapshotRequests() -> AsyncStream<SessionSnapshotRequest> { inbox.receiveSnapshotRequests() }
    /// Stays silent: the local peer never goes away.
    public func reachabilityChanges() -> AsyncStream<SessionPeerReachability> { inbox.reachabilityChanges() }

    public func latestPeerSnapshot(featureID: String) -> AnySessionSyncSnapshot? {
        inbox.latestSnapshot(featureID: featureID)
    }

    public func close() async {
        isClosed.withLock { $0 = true }
        inbox.close()
    }

    private func admit(_ peer: SessionPeer?) throws {
        try Task.checkCancellation()
        guard !isClosed.withLock({ $0 }) else { throw SessionSyncError.closed }
        if let peer, peer.id != localPeer.id { throw SessionSyncError.unknownPeer(id: peer.id) }
    }
}
