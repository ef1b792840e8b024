import MeshBus
public import MeshDelivery
public import MeshIdentity
public import MeshTransport

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// Own sends come back at once: a whole session in one process, for previews and tests.
///
/// Delivery over a `LoopbackLink`: when a send returns, subscribers have what was sent, or it waits for the slowest of
/// them. It knows no peer but itself, so `knownPeers` is empty and a send may name the local peer only. What each mode
/// guarantees, and what sends throw, is `LinkTransport`'s. Safe to use from any thread.
public final class LoopbackSessionSyncTransport: SessionSyncTransport {
    /// All of it: options, diagnostics.
    public let delivery: LinkTransport

    /// - Parameters:
    ///   - budget: refuses larger payloads and says how they are written; nil leaves both to delivery.
    ///   - bufferLimit: elements that wait for one slow subscriber; see `TransportInbox`.
    public init(localPeer: SessionPeer, budget: PayloadBudget? = nil, bufferLimit: Int = 4096) {
        var configuration = DeliveryConfiguration()
        configuration.bufferLimit = bufferLimit
        if let budget {
            configuration.payloadLimit = budget.limit
            configuration.codec = budget.codec
        }
        do {
            delivery = try LinkTransport(localPeer: localPeer, link: LoopbackLink(), configuration: configuration)
            try delivery.start()
        } catch {
            preconditionFailure("without a store, and with a link of its own, nothing can fail: \(error)")
        }
    }

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
