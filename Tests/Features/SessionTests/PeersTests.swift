import Foundation
import MeshEngine
import MeshIdentity
import MeshScenarioTransport
import MeshTransport
import Testing

@testable import MeshSession

/// The present peers, how far each is behind, and the departed peers with their reasons.
@MainActor @Suite struct PeersTests {
    private static let peers = ["phone", "tablet", "watch"].map { name in
        SessionPeer(id: name, deviceClass: .unknown, appInstanceID: "\(name).1", topology: .localNetwork)
    }

    private func three(in world: VirtualWorld) async -> [CounterSession] {
        world.network.provePeers()
        let members = Self.peers.enumerated().map { SessionSource(peerID: $1.id, incarnation: UInt32($0 + 1)) }
        let sessions = Self.peers.enumerated().map { index, peer in
            world.session(world.transport(peer), incarnation: UInt32(index + 1)) {
                $0.members = members
                $0.memberTimeout = .seconds(30)
            }
        }
        for session in sessions { session.start() }
        await world.meet()
        await world.run(.seconds(2))
        return sessions
    }

    /// Regression: each of 256 peers could have filled 4 MiB.
    @Test(arguments: [127, 129])
    func `a peer's acknowledgements count up to a number of bytes of names`(idBytes: Int) {
        let entries = (0..<1024).map { number in
            let name = String(repeating: "n", count: idBytes - 4) + String(1000 + number)
            return SourceSequence(source: SessionSource(peerID: name, incarnation: 1), sequence: 1)
        }
        var heard = HeardPeer(at: Date(timeIntervalSince1970: 0))
        heard.setHeld(SequenceVector(entries))
        #expect(heard.held.entries.count == (idBytes < 128 ? 1024 : 0))
    }

    @Test func `an absent peer isn't active, and lacks the events since`() async throws {
        let world = VirtualWorld(seed: 31)
        let (here, there) = await world.pair()
        try here.submit(.add(1))
        await world.settle(until: { here.confirmedCount == 1 })
        #expect(here.status(of: "watch")?.unacknowledgedCount == 0)
        let since = try #require(here.status(of: "watch")?.heardSince)
        #expect(here.status(of: "watch")?.isActive == true)

        world.network.partition([phone], [watch])
        for _ in 0..<3 { try here.submit(.add(1)) }
        try there.submit(.add(1))
        await world.run(.seconds(60))
        let away = try #require(here.status(of: "watch"))
        #expect(!away.isActive)
        #expect(away.unacknowledgedCount == 3)
        #expect(try #require(away.lastHeardAt).timeIntervalSince(since) < 30)
        #expect(here.departures.isEmpty, "in a group of two, only a user removes the other")

        world.network.heal()
        await world.settle(until: { here.status(of: "watch")?.unacknowledgedCount == 0 })
        let back = try #require(here.status(of: "watch"))
        #expect(back.isActive)
        #expect(try #require(back.heardSince) > since.addingTimeInterval(60), "it has returned since")
    }

    @Test func `A nonmember has no count of unacknowledged events`() async {
        let world = VirtualWorld(seed: 32)
        let here = world.session(world.transport(phone))
        _ = world.transport(watch)
        here.start()
        await world.settle(until: { here.status(of: "watch") != nil })
        #expect(here.status(of: "watch")?.unacknowledgedCount == nil)
        #expect(here.status(of: "watch")?.isActive == false)
        #expect(here.status(of: "watch")?.heardSince == nil)
    }

    @Test(arguments: 0..<6 as Range<UInt64>)
    func `A silent member of three is removed, and learns of it on its return`(seed: UInt64) async throws {
        let world = VirtualWorld(seed: seed, conditions: .rough)
        let sessions = await three(in: world)
        world.network.partition([Self.peers[0], Self.peers[1]], [Self.peers[2]])
        let left = world.now
        await world.settle(until: { sessions[..<2].allSatisfy { $0.memberIDs.count == 2 } })
        for session in sessions[..<2] {
            let departure = try #require(session.departures.first)
            #expect(session.departures.count == 1)
            #expect(departure.source == SessionSource(peerID: "watch", incarnation: 3))
            #expect(departure.viewNumber == session.viewNumber)
            guard case .silent(let since?) = departure.reason else {
                Issue.record("\(departure.reason)")
                continue
            }
            #expect(abs(since.timeIntervalSince(left)) < 15)
            #expect(departure.moment.timeIntervalSince(since) >= 30)
        }
        #expect(sessions[2].departures.isEmpty)

        world.network.heal()
        await world.settle(until: { sessions[2].memberIDs.count == 3 && sessions[0].memberIDs.count == 3 })
        // On a bad network its next incarnation may be fenced before it learns that it was admitted.
        for session in sessions {
            #expect(Set(session.departures.map(\.source)).count == session.departureCount, "seed \(seed): each once")
            #expect(session.departures.first?.source == SessionSource(peerID: "watch", incarnation: 3))
            #expect(session.departures.allSatisfy { $0.peerID == "watch" && $0.source != sessions[2].source })
        }
        #expect(sessions[2].departures.allSatisfy { $0.reason == .fenced })
    }

    @Test(arguments: 0..<6 as Range<UInt64>)
    func `A member of three that leaves is reported as left`(seed: UInt64) async throws {
        let world = VirtualWorld(seed: seed, conditions: .rough)
        let sessions = await three(in: world)
        let leaving = Task { await sessions[2].leave() }
        await world.settle(until: {
            sessions[2].phase == .closed && sessions[..<2].allSatisfy { $0.memberIDs.count == 2 }
        })
        await leaving.value
        for session in sessions[..<2] { #expect(session.departures.map(\.reason) == [.left]) }
    }

    @Test(arguments: 0..<6 as Range<UInt64>)
    func `A member of three that lost its store is replaced`(seed: UInt64) async throws {
        let world = VirtualWorld(seed: seed, conditions: .rough)
        let sessions = await three(in: world)
        sessions[2].stop()
        await sessions[2].transport.close()
        let again = world.session(world.transport(Self.peers[2]), incarnation: 77) { $0.waitsForInvitation = true }
        again.start()
        await world.settle(until: { again.isMember && sessions[0].memberIDs.count == 3 && sessions[0].viewNumber > 0 })
        await world.settle(until: { sessions[1].viewNumber == sessions[0].viewNumber })
        for session in sessions[..<2] {
            #expect(session.departures.map(\.reason) == [.replaced])
            #expect(session.departures.first?.source.incarnation == 3)
        }
        #expect(again.departures.isEmpty)
    }

    @Test func `A member of two that lost its store is replaced`() async throws {
        let world = VirtualWorld(seed: 36)
        let (here, there) = await world.pair()
        there.stop()
        await there.transport.close()
        let again = world.session(world.transport(watch), incarnation: 77)
        again.start()
        await world.settle(until: { again.isMember && here.status(of: "watch")?.sync == .upToDate })
        #expect(here.departures.map(\.reason) == [.replaced])
        #expect(here.departures.first?.source == SessionSource(peerID: "watch", incarnation: 2))
    }

    @Test func `A user's removal is reported on both of two devices`() async throws {
        let world = VirtualWorld(seed: 37)
        world.network.provePeers()
        let (here, there) = await world.pair()
        world.network.partition([phone], [watch])
        try here.submit(.add(1))
        await world.run(.seconds(5))
        here.removeMember("watch")
        await world.settle(until: { here.confirmedCount == 1 })
        #expect(here.departures.map(\.reason) == [.removed(by: "phone")])
        world.network.heal()
        await world.settle(until: { there.confirmedCount == 1 && there.isMember })
        #expect(there.departures.map(\.reason) == [.fenced])
    }

    @Test func `A user's removal in a group of three is reported on the others`() async throws {
        let world = VirtualWorld(seed: 38)
        let sessions = await three(in: world)
        world.network.partition([Self.peers[0], Self.peers[1]], [Self.peers[2]])
        await world.run(.seconds(5))
        for session in sessions[..<2] { session.removeMember("watch") }
        await world.settle(until: { sessions[0].viewNumber == 1 && sessions[1].viewNumber == 1 })
        for session in sessions[..<2] {
            guard case .removed(let peerID)? = session.departures.first?.reason else {
                Issue.record("\(session.departures)")
                continue
            }
            #expect(["phone", "tablet"].contains(peerID))
        }
    }

    @Test func `The newest departures are kept, and all are counted`() {
        var ledger = MembershipLedger()
        for number in 1...100 {
            ledger.record(
                SessionDeparture(
                    source: SessionSource(peerID: "\(number)", incarnation: 1), reason: .left, moment: .distantPast,
                    viewNumber: UInt64(number)))
        }
        #expect(ledger.departures.map(\.peerID) == (37...100).map { "\($0)" })
        #expect(ledger.departureCount == 100)
    }
}
