import Foundation
import MeshBase
import MeshEngine
import MeshIdentity
import MeshScenarioTransport
import MeshSession
import MeshStorage
import MeshTransport
import Testing

/// Sessions in which a member's device is lost and revoked, in virtual time.
@MainActor struct LostMemberTests {
    private static let peers = ["phone", "tablet", "watch"].map {
        SessionPeer(id: $0, deviceClass: .unknown, appInstanceID: "\($0).1", topology: .localNetwork)
    }

    @MainActor private struct Group {
        let world: VirtualWorld
        let transports: [RevokingTransport]
        let sessions: [CounterSession]

        init(seed: UInt64) async {
            world = VirtualWorld(seed: seed, conditions: .rough)
            world.network.provePeers()
            let members = peers.enumerated().map { SessionSource(peerID: $1.id, incarnation: UInt32($0 + 1)) }
            let world = world
            transports = peers.map { RevokingTransport(wrapped: world.transport($0)) }
            sessions = transports.enumerated().map { index, transport in
                world.session(transport, incarnation: UInt32(index + 1)) { $0.members = members }
            }
            for session in sessions { session.start() }
            await world.meet()
        }

        /// Disconnects a device, as a link does with a peer that it no longer trusts.
        func cutOff(_ lost: Int) {
            let (there, here) = (peers[lost], peers.filter { $0.id != peers[lost].id })
            world.network.partition(here, [there])
        }
    }

    @Test(arguments: 0..<4 as Range<UInt64>)
    func `a revoked peer is no longer a member where it was revoked or the revocation confirmed`(seed: UInt64)
        async throws
    {
        let group = await Group(seed: seed)
        let (world, sessions) = (group.world, group.sessions)
        try sessions[2].submit(.add(1), at: world.now)
        await world.settle(until: { sessions.allSatisfy { $0.confirmedCount == 1 } })
        sessions[0].invite("lost too")
        for transport in group.transports[..<2] { transport.revoke(["watch", "lost too"]) }
        group.cutOff(2)
        try sessions[0].submit(.add(2), at: world.now)
        await world.settle(until: { sessions[..<2].allSatisfy { $0.confirmedCount == 2 && $0.viewNumber == 1 } })
        #expect(sessions[..<2].allSatisfy { $0.memberIDs == ["phone", "tablet"] }, "seed \(seed)")
        #expect(sessions[0].departures.map(\.source.peerID) == ["watch"])
        #expect(group.transports[0].guests == ["tablet"], "no member and no invited peer is lost")
        // It also can't be invited by mistake, for example by a lobby that heard of it before.
        sessions[0].invite("watch")
        await world.run(.seconds(5))
        #expect(group.transports[0].guests == ["tablet"])
    }

    @Test(arguments: 0..<4 as Range<UInt64>)
    func `a member that hears the peer keeps it until its own user confirms`(seed: UInt64) async throws {
        let group = await Group(seed: seed)
        let (world, sessions) = (group.world, group.sessions)
        await world.settle(until: { sessions.allSatisfy { $0.isMember } })
        // The tablet hasn't heard of the revocation yet.
        group.transports[0].revoke(["watch"])
        world.network.partition(from: Self.peers[0], to: Self.peers[2])
        world.network.partition(from: Self.peers[2], to: Self.peers[0])
        try sessions[0].submit(.add(1), at: world.now)
        try sessions[1].submit(.add(2), at: world.now)
        await world.settle(until: { sessions[..<2].allSatisfy { $0.state.total == 3 } })
        await world.run(.seconds(150))
        #expect(sessions[1].memberIDs.contains("watch") && sessions[1].viewNumber == 0, "no vote again and again")
        group.transports[1].revoke(["watch"])
        group.cutOff(2)
        await world.settle(until: { sessions[..<2].allSatisfy { $0.memberIDs == ["phone", "tablet"] } })
        await world.settle(until: { sessions[..<2].allSatisfy { $0.confirmedCount == 2 } })
        #expect(sessions[0].state == sessions[1].state, "seed \(seed)")
    }

    @Test(arguments: 0..<4 as Range<UInt64>)
    func `a session opened later excludes the peer, and admits it once it is paired again`(
        seed: UInt64
    ) async throws {
        let world = VirtualWorld(seed: seed)
        world.network.provePeers()
        let store = MemoryStore()
        let transport = RevokingTransport(wrapped: world.transport(Self.peers[0]))
        let (here, there) = (
            try await world.opened(transport, incarnation: 1, store: store),
            world.session(world.transport(Self.peers[2]), incarnation: 2)
        )
        for session in [here, there] { session.start() }
        await world.settle(until: { here.isMember && there.isMember })
        let closing = Task { try await here.close() }
        await world.settle(until: { here.phase == .closed })
        try await closing.value
        world.network.partition([Self.peers[0]], [Self.peers[2]])
        transport.revoke(["watch"])
        let again = try await world.opened(transport, incarnation: 1, store: store)
        #expect(again.memberIDs == ["phone", "watch"])
        again.start()
        try again.submit(.add(1), at: world.now)
        await world.settle(until: { again.memberIDs == ["phone"] && again.confirmedCount == 1 })
        transport.revoke([])
        world.network.heal()
        try there.submit(.add(2), at: world.now)
        await world.settle(until: { again.memberIDs == ["phone", "watch"] && again.state == there.state })
        #expect(again.state.amounts == [1, 2], "seed \(seed)")
    }

    @Test func `a transport without keys can't revoke a peer, and throws`() async throws {
        let world = VirtualWorld(seed: 1)
        let transport = world.transport(Self.peers[0])
        #expect(transport.revokedPeers() == nil && !transport.capabilities.extras.contains(.revocation))
        let (phone, watch) = await world.pair()
        #expect(phone.isMember && watch.isMember)
    }
}

/// A transport whose user revokes peers.
private final class RevokingTransport: TransportWrapper {
    let wrapped: any SessionSyncTransport
    private let topic = Topic<Set<String>>(bufferLimit: 1, overflow: .dropOldest, replaysLatest: true)
    private let named = Locked<Set<String>>([])

    init(wrapped: any SessionSyncTransport) {
        self.wrapped = wrapped
        topic.publish([])
    }

    /// The guests that were last admitted.
    var guests: Set<String> { named.withLock { $0 } }

    func revoke(_ peerIDs: Set<String>) { topic.publish(peerIDs) }
    func revokedPeers() -> AsyncStream<Set<String>>? { topic.subscribe() }
    func admitGuests(_ peerIDs: Set<String>, toSession sessionID: UUID, featureID: String) {
        named.withLock { $0 = peerIDs }
        wrapped.admitGuests(peerIDs, toSession: sessionID, featureID: featureID)
    }
}
