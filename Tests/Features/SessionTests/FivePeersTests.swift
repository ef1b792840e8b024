import Foundation
import MeshEngine
import MeshIdentity
import MeshScenarioTransport
import MeshSession
import MeshTransport
import Testing

/// Each of five peers taps, over a rough network on which all peers reach each other.
@MainActor struct FivePeersTests {
    static let names = ["desktop", "phone", "server", "tablet", "watch"]

    @Test(arguments: 0..<6 as Range<UInt64>)
    func `five devices paired beforehand end with one state`(seed: UInt64) async throws {
        let (world, sessions) = await five(seed: seed, arePaired: true)
        await tapEach(sessions, in: world)
        await world.settle(until: { sessions.allSatisfy { $0.confirmedCount == 25 } })
        #expect(Set(sessions.map(\.state.amounts)).count == 1, "seed \(seed)")
    }

    /// In seeds 3, 21 and 24 a pair once admitted two newcomers that had joined another group.
    @Test(arguments: [0, 1, 2, 3, 4, 5, 21, 24] as [UInt64])
    func `Five devices of one user end with one state without invitations`(seed: UInt64) async throws {
        let (world, sessions) = await five(seed: seed, arePaired: false)
        await tapEach(sessions, in: world)
        await world.settle(
            until: { sessions.allSatisfy { $0.memberIDs.count == 5 && $0.state.amounts.count == 25 } })
        #expect(Set(sessions.map(\.state.amounts)).count == 1, "seed \(seed)")
    }

    /// Pairs of devices found groups. The taps of the other devices stay local.
    @Test(arguments: 0..<6 as Range<UInt64>)
    func `Five unpaired devices do not end with one state`(seed: UInt64) async throws {
        let (world, sessions) = await five(seed: seed, arePaired: false, admits: .invited)
        await tapEach(sessions, in: world)
        await world.run(.seconds(30))
        #expect(sessions.contains { !$0.isMember }, "seed \(seed)")
        #expect(Set(sessions.map(\.state.amounts)).count > 1, "seed \(seed): they were admitted")
        let refused = sessions.flatMap(\.peers).contains { $0.sync == .notAdmitted }
        #expect(refused, "seed \(seed): no alarm was raised")
    }

    private func five(
        seed: UInt64, arePaired: Bool, admits: SessionAdmission = .paired
    ) async -> (VirtualWorld, [CounterSession]) {
        let world = VirtualWorld(seed: seed, conditions: .rough)
        let members = Self.names.enumerated().map {
            SessionSource(peerID: $0.element, incarnation: UInt32($0.offset + 1))
        }
        let sessions = Self.names.enumerated().map { index, name in
            world.session(world.transport(peer(name)), incarnation: UInt32(index + 1)) {
                $0.admits = admits
                if arePaired { $0.members = members }
            }
        }
        for session in sessions { session.start() }
        await world.meet()
        return (world, sessions)
    }

    private func peer(_ name: String) -> SessionPeer {
        SessionPeer(id: name, deviceClass: .unknown, appInstanceID: "\(name).1", topology: .localNetwork)
    }

    private func tapEach(_ sessions: [CounterSession], in world: VirtualWorld) async {
        for tap in 1...5 {
            for (index, session) in sessions.enumerated() {
                #expect(throws: Never.self) { try session.submit(.add(tap * 100 + index), at: world.now) }
            }
            await world.run(.milliseconds(50))
        }
    }
}
