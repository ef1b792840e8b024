import Foundation
import MeshBase
import MeshIdentity
import MeshSession
import MeshTransport
import Testing

/// A third-party transport implements the requirements without a default. The contract provides all others.
@MainActor @Suite struct StrangersTransportTests {
    @Test func `two sessions agree over a transport that implements only the requirements without defaults`()
        async throws
    {
        let world = VirtualWorld(seed: 1)
        let hallway = Hallway()
        let ends = (StrangersTransport(phone, hallway), StrangersTransport(watch, hallway))
        let here = world.session(ends.0, incarnation: 1)
        let there = world.session(ends.1, incarnation: 2)
        here.start()
        there.start()
        await world.settle { here.isMember && there.isMember }
        for amount in 1...20 {
            try here.submit(.add(amount))
            try there.submit(.add(100 * amount))
        }
        await world.settle { here.state == there.state && here.state.total == 101 * 210 }
        #expect(ends.0.capabilities.extras == [])
    }
}

/// A medium in which every member hears every other one.
private final class Hallway: Sendable {
    let members = Locked<[StrangersTransport]>([])

    func everyone(but peer: SessionPeer, _ target: SessionPeer?) -> [StrangersTransport] {
        members.withLock { $0 }.filter { $0.localPeer != peer && (target == nil || $0.localPeer == target) }
    }
}

private struct StrangersTransport: SessionSyncTransport {
    let localPeer: SessionPeer
    private let hallway: Hallway
    private let envelopes = Fan<AnySessionSyncEnvelope>()
    private let snapshots = Fan<AnySessionSyncSnapshot>()
    private let requests = Fan<SessionSnapshotRequest>()
    private let reachability = Fan<SessionPeerReachability>()

    init(_ localPeer: SessionPeer, _ hallway: Hallway) {
        (self.localPeer, self.hallway) = (localPeer, hallway)
        hallway.members.withLock { $0.append(self) }
    }

    var knownPeers: [SessionPeer] { hallway.everyone(but: localPeer, nil).map(\.localPeer) }
    var capabilities: SessionTransportCapabilities {
        SessionTransportCapabilities(
            supportsRealtime: true, supportsDurableQueue: false, supportsLatestStateReplacement: false,
            supportsRequestReply: true, supportsBroadcast: true, supportsPeerDiscovery: true, maximumPayloadSize: nil,
            expectedLatency: .realtime)
    }

    func send(_ envelope: AnySessionSyncEnvelope, mode: SessionDeliveryMode, to peer: SessionPeer?) async throws {
        for other in hallway.everyone(but: localPeer, peer) { other.envelopes.yield(envelope) }
    }
    func sendSnapshot(
        _ snapshot: AnySessionSyncSnapshot, mode: SessionDeliveryMode, to peer: SessionPeer?
    ) async throws {
        for other in hallway.everyone(but: localPeer, peer) { other.snapshots.yield(snapshot) }
    }
    func requestSnapshot(sessionID: UUID, from peer: SessionPeer?) async throws {
        let request = SessionSnapshotRequest(sessionID: sessionID, requester: localPeer)
        for other in hallway.everyone(but: localPeer, peer) { other.requests.yield(request) }
    }

    func receiveEnvelopes() -> AsyncStream<AnySessionSyncEnvelope> { envelopes.stream() }
    func receiveSnapshots() -> AsyncStream<AnySessionSyncSnapshot> { snapshots.stream() }
    func receiveSnapshotRequests() -> AsyncStream<SessionSnapshotRequest> { requests.stream() }
    func reachabilityChanges() -> AsyncStream<SessionPeerReachability> {
        reachability.stream(beginning: knownPeers.map { SessionPeerReachability(true, peer: $0) })
    }
}

/// A source of one stream per subscriber.
private final class Fan<Element: Sendable>: Sendable {
    private let subscribers = Locked<[AsyncStream<Element>.Continuation]>([])

    func stream(beginning first: [Element] = []) -> AsyncStream<Element> {
        let (stream, continuation) = AsyncStream<Element>.makeStream()
        for element in first { continuation.yield(element) }
        subscribers.withLock { $0.append(continuation) }
        return stream
    }

    func yield(_ element: Element) {
        for subscriber in subscribers.withLock({ $0 }) { subscriber.yield(element) }
    }
}
