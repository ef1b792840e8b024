import Foundation
import MeshBase
import MeshEngine
import MeshIdentity
import MeshScenarioTransport
import MeshTransport
import MeshWire
import Observation
import Testing

@testable import MeshSession

private enum Activity: String, Codable, Sendable { case looking, typing }
/// The activities of a newer version of the app.
private enum NewerActivity: String, Codable, Sendable { case looking, typing, dictating }

extension EphemeralKey<Activity> { fileprivate static let activity = EphemeralKey("activity") }
extension EphemeralKey<NewerActivity> { fileprivate static let newer = EphemeralKey("activity") }
extension EphemeralKey<Int> { fileprivate static let cursor = EphemeralKey("cursor") }

/// Members that look, type and point.
@MainActor @Suite struct PresenceTests {
    private typealias Sample = EphemeralLane<[UInt8]>.Sample

    @Test func `Each device sees every device's activity until it is hidden`() async throws {
        let world = VirtualWorld(seed: 41)
        let (here, there) = await world.pair()
        try here.show(.looking, as: .activity)
        try there.show(.typing, as: .activity)
        let both: [String: Activity] = ["phone": .looking, "watch": .typing]
        await world.settle(until: { here.values(of: .activity) == both && there.values(of: .activity) == both })
        there.hide(.activity)
        #expect(there.values(of: .activity) == ["phone": .looking])
        await world.settle(until: { here.values(of: .activity) == ["phone": .looking] })
        #expect(here.latestValue(of: .activity)?.peerID == "phone", "the newest value of all peers")
        #expect(here.latestValue(of: .activity, by: "watch") == nil)
        try there.show(.looking, as: .activity)
        await world.settle(until: { here.values(of: .activity) == ["phone": .looking, "watch": .looking] })
    }

    @Test(arguments: 0..<10 as Range<UInt64>)
    func `a lost value is sent again, and a hidden one doesn't return`(seed: UInt64) async throws {
        let world = VirtualWorld(seed: seed, conditions: .rough)
        let (here, there) = await world.pair()
        for number in 0..<10 {
            try there.show(number, as: .cursor)
            await world.settle(until: { here.values(of: .cursor)["watch"] == number })
            there.hide(.cursor)
            await world.settle(until: { here.values(of: .cursor).isEmpty })
        }
        await world.run(.seconds(30))
        #expect(here.values(of: .cursor).isEmpty, "seed \(seed)")
    }

    @Test func `A closed session hides its own values and shows no others`() async throws {
        let world = VirtualWorld(seed: 42)
        let (here, there) = await world.pair()
        try here.show(1, as: .cursor)
        try there.show(2, as: .cursor)
        await world.settle(until: { here.values(of: .cursor).count == 2 && there.values(of: .cursor).count == 2 })
        let start = world.now
        let closing = Task { try await there.close() }
        await world.settle(until: { there.phase == .closed && here.values(of: .cursor) == ["phone": 1] })
        try await closing.value
        #expect(world.now.timeIntervalSince(start) < 5, "no peer had to miss it first")
        #expect(there.values(of: .cursor).isEmpty)
        there.hide(.cursor)
        #expect(throws: SessionSyncError.sessionClosed) { try there.show(3, as: .cursor) }
    }

    @Test func `A stopped session shows no values, and all of them after a restart`() async throws {
        let world = VirtualWorld(seed: 43)
        let (here, there) = await world.pair()
        try there.show(2, as: .cursor)
        await world.settle(until: { here.values(of: .cursor) == ["watch": 2] })
        here.stop()
        #expect(here.values(of: .cursor).isEmpty)
        here.start()
        await world.settle(until: { here.values(of: .cursor) == ["watch": 2] })
    }

    @Test func `A vanished peer's values disappear after its lease`() async throws {
        let world = VirtualWorld(seed: 44)
        // A transport that doesn't report reachability.
        let here = world.session(MuteTransport(wrapped: world.transport(phone)), incarnation: 1)
        let there = world.session(MuteTransport(wrapped: world.transport(watch)), incarnation: 2)
        await world.meet()
        for session in [here, there] { session.start() }
        await world.settle(until: { here.isMember && there.isMember })
        try there.show(2, as: .cursor)
        await world.settle(until: { here.values(of: .cursor) == ["watch": 2] })
        await world.run(.seconds(120))
        #expect(here.values(of: .cursor) == ["watch": 2], "the value stays as long as its peer")
        world.network.partition([phone], [watch])
        let gone = world.now
        await world.run(.seconds(15))
        #expect(here.values(of: .cursor) == ["watch": 2])
        await world.settle(until: { here.values(of: .cursor).isEmpty })
        #expect((20...45).contains(world.now.timeIntervalSince(gone)))
        world.network.heal()
        await world.settle(until: { here.values(of: .cursor) == ["watch": 2] })
    }

    @Test func `A removed member's values are no longer shown`() async throws {
        let world = VirtualWorld(seed: 45)
        let members = ["phone", "tablet", "watch"].map { SessionSource(peerID: $0, incarnation: 1) }
        let sessions = [phone, tablet, watch].map { peer in
            world.session(MuteTransport(wrapped: world.transport(peer))) { $0.members = members }
        }
        for session in sessions { session.start() }
        try sessions[2].show(2, as: .cursor)
        await world.settle(until: { sessions[0].values(of: .cursor) == ["watch": 2] })
        let leaving = Task { await sessions[2].leave() }
        await world.settle(until: { sessions[0].viewNumber == 1 })
        #expect(sessions[0].values(of: .cursor).isEmpty)
        await world.settle(until: { sessions[2].phase == .closed })
        await leaving.value
    }

    @Test func `a moving cursor is sent ten times per second, and its last position arrives`() async throws {
        let world = VirtualWorld(seed: 46)
        let transport = CountingTransport(wrapped: world.transport(watch))
        let here = world.session(world.transport(phone), incarnation: 1)
        let there = world.session(transport, incarnation: 2)
        await world.meet()
        for session in [here, there] { session.start() }
        await world.settle(until: { here.isMember && there.isMember })
        for number in 1...400 {
            try there.show(number, as: .cursor)
            if number.isMultiple(of: 2) { await world.step() }
        }
        #expect((18...24).contains(transport.count), "2 seconds: \(transport.count)")
        await world.run(.milliseconds(300))
        #expect(here.values(of: .cursor) == ["watch": 400])
    }

    @Test func `a view is updated`() async throws {
        let world = VirtualWorld(seed: 47)
        let (here, there) = await world.pair()
        let hasChanged = Locked(false)
        withObservationTracking {
            _ = here.values(of: .cursor)
        } onChange: {
            hasChanged.withLock { $0 = true }
        }
        try there.show(1, as: .cursor)
        await world.settle(until: { hasChanged.withLock { $0 } })
    }

    @Test func `A newer version's value is left out, and read once its type is known`() async throws {
        let world = VirtualWorld(seed: 48)
        let (here, there) = await world.pair()
        try there.show(.dictating, as: .newer)
        await world.settle(until: { here.values(of: .newer)["watch"] == .dictating })
        #expect(here.values(of: .activity).isEmpty)
        #expect(here.values(of: EphemeralKey<Int>("activity")).isEmpty)
        #expect(here.statistics.rejected == 0)
        try there.show(.typing, as: .newer)
        await world.settle(until: { here.values(of: .activity) == ["watch": .typing] })
    }

    @Test func `A flooding peer uses only its own share`() async throws {
        let world = VirtualWorld(seed: 49)
        let here = world.session(world.transport(phone))
        here.start()
        let honest = try message([sample(1, by: "tablet")], world, from: "tablet")
        here.turn { $0.receive([honest]) }
        for round in 0..<200 as Range<UInt64> {
            let samples = (0..<64).map {
                Sample(
                    source: SessionSource(peerID: "watch", incarnation: 2), key: "\(round).\($0)", sequence: round,
                    stamp: HybridTimestamp(milliseconds: 1_700_000_000_000 + round, counter: 0),
                    value: [UInt8](repeating: 7, count: EphemeralLimits.valueBytesMax))
            }
            let message = try message(samples, world)
            here.turn { $0.receive([message]) }
        }
        #expect(here.core.ephemerals.samples(of: "watch").count == EphemeralLimits.keysMax)
        for number in 0..<200 {
            let message = try message([sample(5, by: "\(number)")], world, from: "\(number)")
            here.turn { $0.receive([message]) }
        }
        #expect(here.values(of: .cursor).count == EphemeralLimits.peersMax - 1)
        #expect(here.values(of: .cursor)["tablet"] == 1)
        #expect(here.core.ephemerals.samples(of: "watch").count == EphemeralLimits.keysMax)
        try here.show(3, as: .cursor)
        #expect(here.values(of: .cursor)["phone"] == 3)
    }

    // MARK: - Messages from peers

    private func sample(_ value: Int, by peerID: String = "watch") -> Sample {
        var lane = EphemeralLane<[UInt8]>(source: SessionSource(peerID: peerID, incarnation: 1))
        return lane.record(bytes(value), for: "cursor", at: Date(timeIntervalSince1970: 1_767_225_600))
    }

    private func bytes(_ value: Int) -> [UInt8] { (try? CompactCodec().encode(value)) ?? [] }

    private func message(
        _ samples: [Sample], _ world: VirtualWorld, from peerID: String = "watch"
    ) throws -> AnySessionSyncEnvelope {
        let metadata = SessionSyncMetadata(
            sessionID: sessionID, featureID: "counter", sourcePeerID: peerID, sequence: 0, causalTimestamp: world.now,
            payloadType: EphemeralMessage.payloadType, incarnation: 2)
        return try AnySessionSyncEnvelope(
            SessionSyncEnvelope(metadata: metadata, payload: EphemeralMessage(samples: samples)))
    }
}

/// A transport that doesn't report reachability.
private struct MuteTransport: TransportWrapper {
    let wrapped: any SessionSyncTransport

    func reachabilityChanges() -> AsyncStream<SessionPeerReachability> { AsyncStream { _ in } }
}

/// Counts messages with ephemeral values.
private final class CountingTransport: WrappingTransport {
    let wrapped: any SessionSyncTransport
    private let counter = Locked(0)

    init(wrapped: any SessionSyncTransport) { self.wrapped = wrapped }

    var count: Int { counter.withLock { $0 } }

    func send(_ envelope: AnySessionSyncEnvelope, mode: SessionDeliveryMode, to peer: SessionPeer?) async throws {
        if [EphemeralMessage.payloadType, ShortForm.shownType].contains(envelope.metadata.payloadType) {
            counter.withLock { $0 += 1 }
        }
        try await wrapped.send(envelope, mode: mode, to: peer)
    }
}
