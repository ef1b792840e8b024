import Foundation
import MeshBase
import MeshEngine
import MeshIdentity
import MeshScenarioTransport
import MeshStorage
import MeshTestSupport
import MeshTransport
import Testing

@testable import MeshSession

/// Idle sessions, and their cost.
@MainActor @Suite struct SilenceTests {
    @Test func `An idle hour costs at most 24 controls and no write, and both stay active`() async throws {
        let world = VirtualWorld(seed: 51)
        let stores = [FailingStore(), FailingStore()]
        let here = try await world.opened(world.transport(phone), incarnation: 1, store: stores[0])
        let there = try await world.opened(world.transport(watch), incarnation: 2, store: stores[1])
        await world.meet()
        for session in [here, there] { session.start() }
        await world.settle(until: { here.isMember && there.isMember })
        try here.submit(.add(1))
        try there.submit(.add(2))
        await world.run(.seconds(60))
        #expect(here.confirmedCount == 2 && there.confirmedCount == 2)
        let sent = { here.statistics.controlsSent + there.statistics.controlsSent }
        let (controls, commits) = (sent(), stores.map { $0.count.withLock { $0 } })
        for _ in 0..<12 {
            await world.run(.seconds(300))
            #expect(here.status(of: "watch")?.isActive == true && there.status(of: "phone")?.isActive == true)
        }
        #expect(sent() - controls <= 24)
        #expect(stores.map { $0.count.withLock { $0 } } == commits)
        try there.submit(.add(3))
        let tapped = world.now
        await world.settle(until: { here.state.total == 6 && here.confirmedCount == 3 && there.confirmedCount == 3 })
        #expect(world.now.timeIntervalSince(tapped) < 5)
    }

    @Test(arguments: 0..<4 as Range<UInt64>)
    func `A lost last message doesn't leave one side asking`(seed: UInt64) async throws {
        let world = VirtualWorld(seed: seed, conditions: .rough)
        let (here, there) = await world.pair()
        for number in 1...5 {
            try here.submit(.add(number))
            try there.submit(.add(number))
            await world.run(.seconds(2))
        }
        await world.settle(until: { here.confirmedCount == 10 && there.confirmedCount == 10 })
        await world.run(.seconds(120))
        let sent = { here.statistics.controlsSent + there.statistics.controlsSent }
        let before = sent()
        await world.run(.seconds(600))
        #expect(sent() - before <= 10, "seed \(seed)")
    }

    @Test func `A version that announces no silence gets a message every ten seconds`() async throws {
        let world = VirtualWorld(seed: 52)
        let here = world.session(world.transport(phone), incarnation: 1)
        let there = world.session(SilencelessTransport(wrapped: world.transport(watch)), incarnation: 2) {
            $0.usesShortForms = false
        }
        await world.meet()
        for session in [here, there] { session.start() }
        await world.settle(until: { here.isMember && there.isMember })
        try here.submit(.add(1))
        await world.run(.seconds(30))
        let before = here.statistics.controlsSent
        await world.run(.seconds(100))
        #expect((9...12).contains(here.statistics.controlsSent - before))
    }

    @Test func `An idle group of three removes no member, and a dead one within 75 seconds`() async throws {
        let world = VirtualWorld(seed: 53)
        let members = ["phone", "tablet", "watch"].map { SessionSource(peerID: $0, incarnation: 1) }
        let sessions = [phone, tablet, watch].map { peer in
            world.session(world.transport(peer)) { $0.members = members }
        }
        await world.meet()
        for session in sessions { session.start() }
        try sessions[0].submit(.add(1))
        await world.settle(until: { sessions.allSatisfy { $0.confirmedCount == 1 } })
        await world.run(.seconds(3_600))
        #expect(sessions.allSatisfy { $0.viewNumber == 0 && $0.memberIDs.count == 3 })
        world.network.partition([phone, tablet], [watch])
        let gone = world.now
        await world.settle(until: { sessions[0].viewNumber == 1 && sessions[1].viewNumber == 1 })
        #expect((55...75).contains(world.now.timeIntervalSince(gone)))
        #expect(sessions[0].memberIDs == ["phone", "tablet"])
    }

    @Test func `Twenty taps in ten seconds publish at most three states, the last one within five seconds`()
        async throws
    {
        let world = VirtualWorld(seed: 54)
        let (here, there) = await world.pair()
        await world.run(.seconds(10))
        let before = here.statistics.snapshotsSent
        for number in 1...20 {
            try here.submit(.add(number))
            await world.run(.milliseconds(500))
        }
        #expect(here.statistics.snapshotsSent - before <= 3)
        await world.run(.seconds(5))
        let kept = try #require(there.transport.latestPeerSnapshot(featureID: "counter"))
        #expect(try kept.decodeState(as: Counter.self) == here.state)
    }

    @Test func `A tap travels at once, however soon after another`() async throws {
        let world = VirtualWorld(seed: 56)
        let store = FailingStore()
        let here = try await world.opened(world.transport(phone), incarnation: 1, store: store)
        let there = world.session(world.transport(watch), incarnation: 2)
        await world.meet()
        for session in [here, there] { session.start() }
        await world.settle(until: { here.isMember && there.isMember })
        for number in 1...5 {
            await world.run(.milliseconds(1_100))
            let tap = try here.submit(.add(number))
            await world.step()
            #expect(![.unknown, .submitted].contains(here.delivery(of: tap).step), "tap \(number)")
            await world.run(.milliseconds(100))
            #expect(there.state.amounts.count == number)
        }
    }

    @Test func `A state that waits is published when a member goes out of reach`() async throws {
        let world = VirtualWorld(seed: 55)
        let (here, there) = await world.pair()
        await world.run(.seconds(10))
        let before = here.statistics.snapshotsSent
        for number in 1...3 {
            try here.submit(.add(number))
            await world.run(.milliseconds(200))
        }
        #expect(here.statistics.snapshotsSent == before + 1)
        there.stop()
        world.network.partition([phone], [watch])
        await world.settle(until: { here.reachablePeerIDs.isEmpty })
        await world.run(.milliseconds(50))
        #expect(here.statistics.snapshotsSent > before + 1)
        try here.submit(.add(4))
        await world.run(.milliseconds(50))
        #expect(here.statistics.snapshotsSent > before + 2, "as usual while a member is away")
    }
}

/// Sends controls as the previous version does, without announcing a silence.
private struct SilencelessTransport: WrappingTransport {
    let wrapped: any SessionSyncTransport

    func send(_ envelope: AnySessionSyncEnvelope, mode: SessionDeliveryMode, to peer: SessionPeer?) async throws {
        var sent = envelope
        if envelope.metadata.payloadType == SessionControl.payloadType {
            var control = try envelope.decodePayload(as: SessionControl.self)
            (control.silence, control.reads) = (nil, nil)
            sent = try AnySessionSyncEnvelope(SessionSyncEnvelope(metadata: envelope.metadata, payload: control))
        }
        try await wrapped.send(sent, mode: mode, to: peer)
    }
}
