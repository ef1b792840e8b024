import Foundation
import MeshBus
import MeshEngine
import MeshIdentity
import MeshScenarioTransport
import MeshSession
import MeshTransport
import Testing

/// A transport whose queue is full for the first sends.
private struct CrowdedTransport: SessionSyncTransport {
    let wrapped: any SessionSyncTransport
    let refusals: Locked<Int>

    var localPeer: SessionPeer { wrapped.localPeer }
    var knownPeers: [SessionPeer] { wrapped.knownPeers }
    var capabilities: SessionTransportCapabilities { wrapped.capabilities }

    func send(_ envelope: AnySessionSyncEnvelope, mode: SessionDeliveryMode, to peer: SessionPeer?) async throws {
        let isFull = refusals.withLock { refusals in
            refusals -= 1
            return refusals >= 0
        }
        if isFull { throw SessionSyncError.queueFull(limit: 1) }
        try await wrapped.send(envelope, mode: mode, to: peer)
    }

    func sendSnapshot(_ snapshot: AnySessionSyncSnapshot, mode: SessionDeliveryMode, to peer: SessionPeer?) async throws
    {
        try await wrapped.sendSnapshot(snapshot, mode: mode, to: peer)
    }

    func requestSnapshot(sessionID: UUID, from peer: SessionPeer?) async throws {
        try await wrapped.requestSnapshot(sessionID: sessionID, from: peer)
    }

    func cancel(eventID: UUID, featureID: String) -> Bool { wrapped.cancel(eventID: eventID, featureID: featureID) }

    func receiveEnvelopes() -> AsyncStream<AnySessionSyncEnvelope> { wrapped.receiveEnvelopes() }
    func receiveSnapshots() -> AsyncStream<AnySessionSyncSnapshot> { wrapped.receiveSnapshots() }
    func receiveSnapshotRequests() -> AsyncStream<SessionSnapshotRequest> { wrapped.receiveSnapshotRequests() }
    func reachabilityChanges() -> AsyncStream<SessionPeerReachability> { wrapped.reachabilityChanges() }
}

@MainActor @Suite struct QueueFullTests {
    let world = VirtualWorld(seed: 5)

    private func phoneSession(refusals: Int) -> CounterSession {
        let transport = CrowdedTransport(
            wrapped: world.transport(phone), refusals: Locked(refusals))
        return world.session(transport) { $0.isHighRate = { _ in true } }
    }

    @Test func `a burst that fills the transport's queue is slowed down and not dropped`() async throws {
        let here = phoneSession(refusals: 50)
        let there = world.session(world.transport(watch), incarnation: 2)
        await world.meet()
        here.start()
        there.start()
        await world.settle()
        for _ in 0..<20 { try here.submit(.add(1), at: world.now) }
        await world.settle(until: { there.state.total == 20 })
        #expect(there.statistics.gaps == 0)
        #expect(here.statistics.sendFailures == 0)
    }

    @Test func `a queue that stays full fails the send, and the event arrives once there is room`() async throws {
        let here = phoneSession(refusals: 125)
        let there = world.session(world.transport(watch), incarnation: 2)
        await world.meet()
        here.start()
        there.start()
        await world.settle()
        let id = try here.submit(.add(1), at: world.now).metadata.eventID
        await world.settle(until: { here.statistics.sendFailures == 1 })
        #expect(here.lastSendError as? SessionSyncError == .queueFull(limit: 1))
        #expect(there.state.total == 0)
        await world.settle(until: { here.delivery(of: id) == .confirmed })
        #expect(there.state.total == 1)
    }
}
