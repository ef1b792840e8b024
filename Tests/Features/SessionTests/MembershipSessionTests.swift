import Foundation
import MeshBase
import MeshEngine
import MeshIdentity
import MeshScenarioTransport
import MeshSession
import MeshTransport
import Testing

/// Sessions of three and more devices that come and go, over a rough network whose links prove each peer's identity.
@MainActor struct MembershipSessionTests {
    private static let peers = ["phone", "tablet", "watch"].map { peer($0) }

    private static func peer(_ name: String) -> SessionPeer {
        SessionPeer(id: name, deviceClass: .unknown, appInstanceID: "\(name).1", topology: .localNetwork)
    }

    private static func world(_ seed: UInt64) -> VirtualWorld {
        let world = VirtualWorld(seed: seed, conditions: .rough)
        world.network.provePeers()
        return world
    }

    /// Started sessions of initial members. Each records its effects of confirmed events.
    private func three(in world: VirtualWorld, effects: Locked<[String: [Int]]> = Locked([:])) async -> [CounterSession]
    {
        let members = Self.peers.enumerated().map { SessionSource(peerID: $1.id, incarnation: UInt32($0 + 1)) }
        let sessions = Self.peers.enumerated().map { index, peer in
            world.session(world.transport(peer), incarnation: UInt32(index + 1)) {
                $0.members = members
                $0.memberTimeout = .seconds(30)
                $0.onConfirmed = { event in
                    guard case .add(let amount) = event.envelope.payload else { return }
                    effects.withLock { $0[peer.id, default: []].append(amount) }
                }
            }
        }
        for session in sessions { session.start() }
        await world.meet()
        return sessions
    }

    @Test(arguments: 0..<4 as Range<UInt64>)
    func `Two of three continue without an absent member, which returns with its taps`(seed: UInt64) async throws {
        let world = Self.world(seed)
        let effects = Locked<[String: [Int]]>([:])
        let sessions = await three(in: world, effects: effects)
        try sessions[2].submit(.add(1), at: world.now)
        await world.settle(until: { sessions.allSatisfy { $0.confirmedCount == 1 } })

        world.network.partition([Self.peers[0], Self.peers[1]], [Self.peers[2]])
        try sessions[0].submit(.add(2), at: world.now)
        try sessions[2].submit(.add(3), at: world.now)
        await world.settle(until: { sessions[0].confirmedCount == 2 && sessions[1].confirmedCount == 2 })
        #expect(sessions[0].viewNumber == 1)
        #expect(sessions[2].confirmedCount == 1)
        try sessions[2].submit(.add(4), at: world.now)

        world.network.heal()
        await world.settle(until: { sessions.allSatisfy { $0.confirmedCount == 4 } })
        #expect(Set(sessions.map(\.state.amounts)) == [[1, 2, 3, 4]], "seed \(seed)")
        // The watch got the events confirmed in its absence as part of a state.
        #expect(effects.withLock { $0 } == ["phone": [1, 2, 3, 4], "tablet": [1, 2, 3, 4], "watch": [1, 3, 4]])
    }

    @Test(arguments: 0..<4 as Range<UInt64>)
    func `an invited third device joins, and an uninvited fourth doesn't`(seed: UInt64) async throws {
        let world = Self.world(seed)
        let (phone, watch) = await world.pair { $0.admits = .invited }
        try phone.submit(.add(1), at: world.now)
        let tablet = world.session(world.transport(Self.peer("tablet")), incarnation: 3) {
            ($0.waitsForInvitation, $0.admits) = (true, .invited)
        }
        let guest = world.session(world.transport(Self.peer("guest")), incarnation: 4) { $0.waitsForInvitation = true }
        for session in [tablet, guest] { session.start() }
        try tablet.submit(.add(2), at: world.now)
        await world.run(.seconds(3))
        #expect(!tablet.isMember)
        watch.invite("tablet")
        let sessions = [phone, watch, tablet]
        await world.settle(until: { sessions.allSatisfy { $0.isMember && $0.confirmedCount == 2 } })
        #expect(Set(sessions.map(\.state.amounts)) == [[1, 2]], "seed \(seed)")
        #expect(!guest.isMember)
        // The guest has seen only the state that the tablet showed before it became a member.
        #expect(!guest.state.amounts.contains(1))
    }

    @Test(arguments: 0..<4 as Range<UInt64>)
    func `a member that lost its store becomes a member again`(seed: UInt64) async throws {
        let world = Self.world(seed)
        let sessions = await three(in: world)
        for (index, session) in sessions.enumerated() { try session.submit(.add(index), at: world.now) }
        await world.settle(until: { sessions.allSatisfy { $0.confirmedCount == 3 } })
        let closing = Task { try await sessions[2].close() }
        await world.settle(until: { sessions[2].phase == .closed })
        try await closing.value
        await sessions[2].transport.close()
        let again = world.session(world.transport(Self.peers[2]), incarnation: 77) { $0.waitsForInvitation = true }
        again.start()
        try again.submit(.add(9), at: world.now)
        let all = [sessions[0], sessions[1], again]
        await world.settle(until: { all.allSatisfy { $0.isMember && $0.confirmedCount == 4 } })
        #expect(Set(all.map { Set($0.state.amounts) }) == [[0, 1, 2, 9]], "seed \(seed)")
        #expect(Set(all.map(\.state.amounts)).count == 1)
    }

    @Test(arguments: 0..<4 as Range<UInt64>)
    func `The user decides in a group of two`(seed: UInt64) async throws {
        let world = Self.world(seed)
        let (phone, watch) = await world.pair { $0.memberTimeout = .seconds(30) }
        world.network.partition([MeshSessionTests.phone], [MeshSessionTests.watch])
        try phone.submit(.add(1), at: world.now)
        try watch.submit(.add(2), at: world.now)
        await world.run(.seconds(60))
        #expect(phone.confirmedCount == 0)
        phone.removeMember("watch")
        await world.settle(until: { phone.confirmedCount == 1 })
        world.network.heal()
        await world.settle(until: { phone.confirmedCount == 2 && watch.confirmedCount == 2 })
        #expect(phone.state.amounts == [1, 2])
        #expect(watch.state.amounts == [1, 2])
    }

    @Test func `A member that leaves is no longer waited for`() async throws {
        let world = Self.world(1)
        let sessions = await three(in: world)
        try sessions[2].submit(.add(1), at: world.now)
        let leaving = Task { await sessions[2].leave() }
        await world.settle(until: { sessions[2].phase == .closed })
        await leaving.value
        try sessions[0].submit(.add(2), at: world.now)
        await world.settle(until: { sessions[0].confirmedCount == 2 && sessions[1].confirmedCount == 2 })
        #expect(sessions[0].viewNumber == 1)
    }

    @Test(arguments: 0..<4 as Range<UInt64>)
    func `Both members show an absent author's events that only one of them has received`(seed: UInt64) async throws {
        let world = Self.world(seed)
        let sessions = await three(in: world)
        await world.run(.seconds(2))
        world.network.partition([Self.peers[0], Self.peers[2]], [Self.peers[1]])
        try sessions[2].submit(.add(5), at: world.now)
        await world.settle(until: { sessions[0].state.amounts == [5] })
        world.network.heal()
        world.network.partition([Self.peers[0], Self.peers[1]], [Self.peers[2]])
        await world.settle(within: .seconds(20), until: { sessions[1].state.amounts == [5] })
        #expect(sessions[1].viewNumber == 0)
        #expect(sessions[0].statistics.relayed > 0)
    }
}
