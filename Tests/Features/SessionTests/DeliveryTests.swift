import Foundation
import MeshBase
import MeshEngine
import MeshIdentity
import MeshScenarioTransport
import MeshSession
import MeshStorage
import MeshTestSupport
import MeshTransport
import Testing

/// Reports of a session about its peers and its own events, and the writes that come before any message.
@MainActor @Suite struct DeliveryTests {
    let world = VirtualWorld(seed: 11)

    @Test func `an event is submitted, accepted, sent, held and confirmed, in this order`() async throws {
        let (here, there) = await world.pair()
        var seen: [SessionEventDelivery.Step] = []
        let id = try here.submit(.add(1), at: world.now).metadata.eventID
        func look() {
            let step = here.delivery(of: id).step
            if seen.last != step { seen.append(step) }
        }
        look()
        await world.settle(until: {
            look()
            return here.delivery(of: id).step == .confirmed
        })
        #expect(seen.first == .submitted)
        #expect(seen.last == .confirmed)
        let ranks = seen.map(rank)
        #expect(ranks == ranks.sorted())
        #expect(seen.contains(.sent))
        #expect(there.delivery(of: id) == SessionEventDelivery(step: .unknown, effect: .unknown), "not its own")
        #expect(here.delivery(of: UUID()).step == .unknown)
    }

    private func rank(_ step: SessionEventDelivery.Step) -> Int {
        switch step {
        case .unknown: -1
        case .submitted: 0
        case .accepted: 1
        case .sent: 2
        case .held: 3
        case .confirmed: 4
        }
    }

    @Test func `An event is accepted without a reachable peer, and held once there is one`() async throws {
        let (here, there) = await world.pair()
        world.network.partition([phone], [watch])
        await world.settle(until: { here.reachablePeerIDs.isEmpty })
        let id = try here.submit(.add(1), at: world.now).metadata.eventID
        await world.settle()
        #expect(here.delivery(of: id).step == .accepted)
        #expect(here.status(of: "watch")?.sync == .behind(by: 1))
        #expect(here.status(of: "watch")?.isReachable == false)
        world.network.heal()
        await world.settle(until: { here.delivery(of: id).step == .confirmed })
        #expect(there.state.total == 1)
        #expect(here.status(of: "watch")?.sync == .upToDate)
    }

    @Test func `events that a joining peer reissues keep their IDs`() async throws {
        let there = world.session(world.transport(watch), incarnation: 2)
        there.start()
        let ids = try (1...5).map { try there.submit(.add($0), at: world.now).metadata.eventID }
        await world.settle()
        #expect(ids.allSatisfy { there.delivery(of: $0).step == .accepted })
        let here = world.session(world.transport(phone), incarnation: 1)
        here.start()
        await world.settle(until: { ids.allSatisfy { there.delivery(of: $0).step == .confirmed } })
        #expect(here.state.total == 15)
    }

    @Test func `status goes from waiting to up to date`() async throws {
        let here = world.session(world.transport(phone), incarnation: 1)
        here.start()
        _ = world.transport(watch)
        await world.settle(until: { here.status(of: "watch")?.sync == .waiting })
        let there = world.session(world.transport(watch), incarnation: 2)
        there.start()
        await world.settle(until: { here.status(of: "watch")?.sync == .upToDate })
        #expect(here.peers.map(\.peerID) == ["watch"])
        #expect(here.status(of: "watch")?.lastHeardAt != nil)
        #expect(here.status(of: "phone") == nil)
    }

    @Test func `a state without its events is provisional`() async throws {
        let reference = ReferencePeer(world.transport(phone), now: { [network = world.network] in network.now })
        try await reference.publish()
        let there = world.session(world.transport(watch), incarnation: 2)
        there.start()
        await world.settle(until: { there.phase == .running })
        world.network.setConditions(ScenarioConditions(lossRate: 1), from: phone, to: watch)
        await world.run(.milliseconds(200))
        try await reference.submit(.add(1))
        world.network.setConditions(nil, from: phone, to: watch)
        try await reference.publish()
        await world.settle(until: { there.isProvisional })
        #expect(there.state.total == 1)
        #expect(there.status(of: "phone")?.sync == .provisional)
    }

    @Test func `nothing is sent or confirmed before the store has it`() async throws {
        let store = FailingStore()
        let here = try await world.opened(world.transport(phone), incarnation: 1, store: store)
        let there = world.session(world.transport(watch), incarnation: 2)
        here.start()
        there.start()
        await world.settle(until: { here.isMember && there.isMember })
        store.isFailing.withLock { $0 = true }
        let id = try here.submit(.add(1), at: world.now).metadata.eventID
        #expect(here.state.total == 1, "shown at once")
        await world.settle(until: { here.storeError != nil })
        await world.settle()
        #expect(there.state.total == 0)
        #expect(here.delivery(of: id).step == .submitted)
        store.isFailing.withLock { $0 = false }
        await world.settle(until: { here.delivery(of: id).step == .confirmed })
        #expect(here.storeError == nil)
        #expect(there.state.total == 1)
        #expect(try store.image()?.head.settledCount ?? 0 > 0)
    }

    @Test func `one write serves many events`() async throws {
        let store = FailingStore()
        let here = try await world.opened(world.transport(phone), incarnation: 1, store: store) {
            $0.isHighRate = { _ in true }
        }
        here.start()
        await world.settle()
        let before = store.count.withLock { $0 }
        for tap in 1...500 { try here.submit(.add(tap), at: world.now) }
        await world.run(.milliseconds(500))
        #expect(store.count.withLock { $0 } - before <= 3)
        #expect(try store.image()?.head.sequence == 500)
    }

    @Test func `a settled pair falls nearly silent`() async throws {
        let (here, there) = await world.pair()
        try here.submit(.add(1), at: world.now)
        await world.settle(until: { here.confirmedCount == 1 && there.confirmedCount == 1 })
        await world.settle()
        let before = here.statistics.controlsSent + there.statistics.controlsSent
        await world.run(.seconds(60))
        #expect(here.statistics.controlsSent + there.statistics.controlsSent - before <= 16)
        try there.submit(.add(1), at: world.now)
        let start = world.network.elapsed
        await world.settle(until: { there.confirmedCount == 2 })
        #expect(world.network.elapsed - start < .seconds(1), "and wakes at once")
    }
}

extension FailingStore {
    func image() throws -> SessionEngineImage<Counter, Tap>? {
        var archive = try CounterArchive(store: self, sessionID: sessionID, featureID: "counter")
        return try archive.load()
    }
}
