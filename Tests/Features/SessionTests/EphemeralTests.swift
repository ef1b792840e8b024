import Foundation
import MeshEngine
import MeshIdentity
import MeshScenarioTransport
import MeshTransport
import Testing

@testable import MeshSession

extension EphemeralKey<Int> {
    fileprivate static let heartRate = EphemeralKey("heartRate")
}

private let noon = Date(timeIntervalSince1970: 1_767_225_600)

/// Ephemeral values: only the newest one counts.
@MainActor @Suite struct EphemeralTests {
    private typealias Sample = EphemeralLane<[UInt8]>.Sample

    @Test(arguments: 0..<10 as Range<UInt64>)
    func `A heart rate never goes back, and the newest arrives though a fifth is lost`(seed: UInt64) async throws {
        let world = VirtualWorld(seed: seed, conditions: .rough)
        let (phone, watch) = await world.pair()
        var rates: [Int] = []
        let values = phone.valueUpdates(of: .heartRate)
        let listener = Task { @MainActor in for await value in values { rates.append(value.value) } }
        for rate in 1...60 {
            try watch.show(rate, as: .heartRate)
            await world.run(.seconds(1))
        }
        await world.settle { phone.latestValue(of: .heartRate)?.value == 60 }
        await world.settle()
        #expect(rates == rates.sorted() && rates.last == 60, "seed \(seed): \(rates)")
        #expect(rates.count > 30, "seed \(seed)")
        #expect(phone.latestValue(of: .heartRate, by: "watch")?.peerID == "watch")
        #expect(phone.statistics.applied == 0 && phone.core.engine.logCount == 0, "it was an event")
        listener.cancel()
    }

    @Test func `Each device has its own value, and the newest of all is known`() async throws {
        let world = VirtualWorld(seed: 1)
        let (phone, watch) = await world.pair()
        try watch.show(120, as: .heartRate)
        await world.settle()
        try phone.show(90, as: .heartRate)
        await world.settle()
        for session in [phone, watch] {
            #expect(session.latestValue(of: .heartRate)?.value == 90)
            #expect(session.latestValue(of: .heartRate, by: "watch")?.value == 120)
            #expect(session.latestValue(of: EphemeralKey<String>("heartRate")) == nil, "another type")
        }
    }

    @Test func `A device that joins later gets the newest value`() async throws {
        let world = VirtualWorld(seed: 2)
        let there = world.session(world.transport(watch), incarnation: 2)
        there.start()
        for rate in 100...150 { try there.show(rate, as: .heartRate) }
        await world.settle()
        let here = world.session(world.transport(phone), incarnation: 1)
        await world.meet()
        here.start()
        await world.settle { here.latestValue(of: .heartRate)?.value == 150 }
    }

    @Test func `A value disappears when its peer is silent, and a later incarnation starts over`() async throws {
        let world = VirtualWorld(seed: 3)
        let transport = world.transport(watch)
        let here = world.session(world.transport(phone), incarnation: 1)
        let there = world.session(transport, incarnation: 2, clockAhead: 3600)
        await world.meet()
        here.start()
        there.start()
        try there.show(150, as: .heartRate)
        await world.settle { here.latestValue(of: .heartRate)?.value == 150 }
        there.stop()
        await world.run(.seconds(60))
        #expect(here.latestValue(of: .heartRate) == nil)
        // The watch's clock was an hour ahead, and is correct now.
        let next = world.session(transport, incarnation: 3)
        next.start()
        try next.show(80, as: .heartRate)
        await world.settle { here.latestValue(of: .heartRate)?.value == 80 }
    }

    @Test func `A value that arrives after its peer is gone disappears a second later`() throws {
        let world = VirtualWorld(seed: 7)
        var core = world.session(world.transport(phone)).core
        core.start(retained: nil)
        let watch = SessionSource(peerID: "watch", incarnation: 2)
        let message = try message([Sample(source: watch, key: "a", sequence: 1, stamp: .zero, value: [1])], world)
        core.receive(SessionPeerReachability(true, peer: MeshSessionTests.watch))
        core.receive([message])
        core.receive(SessionPeerReachability(false, peer: MeshSessionTests.watch))
        #expect(core.ephemerals.samples.isEmpty && core.takeDirectives().exchangeIn == .seconds(1))
        core.receive([message])
        core.exchangeNow()
        #expect(core.ephemerals.samples.isEmpty)
    }

    @Test func `An incarnation with an earlier clock replaces the one before`() throws {
        var lane = EphemeralLane<Int>(source: SessionSource(peerID: "phone", incarnation: 1))
        var first = EphemeralLane<Int>(source: SessionSource(peerID: "watch", incarnation: 1))
        var second = EphemeralLane<Int>(source: SessionSource(peerID: "watch", incarnation: 2))
        lane.receive(first.record(1, for: "a", at: noon + 3600))
        lane.receive(first.record(2, for: "b", at: noon + 3600))
        let isNew = lane.receive(second.record(3, for: "a", at: noon))
        #expect(isNew)
        #expect(lane.samples(of: "watch").map(\.value) == [3])
    }

    @Test func `A late value of a closed incarnation isn't shown`() async throws {
        let world = VirtualWorld(seed: 8)
        let transport = world.transport(watch)
        let here = world.session(world.transport(phone), incarnation: 1)
        let there = world.session(transport, incarnation: 2)
        let closed = there.source
        await world.meet()
        here.start()
        there.start()
        await world.settle { here.isMember && there.isMember }
        there.stop()
        let next = world.session(transport, incarnation: 3)
        next.start()
        await world.settle { next.isMember && here.core.engine.isClosed(closed) }
        try next.show(80, as: .heartRate)
        await world.settle { here.latestValue(of: .heartRate)?.value == 80 }
        var core = here.core
        core.receive([try message([Sample(source: closed, key: "a", sequence: 9, stamp: .zero, value: [1])], world)])
        #expect(core.ephemerals.samples(of: "watch").map(\.source.incarnation) == [3])
    }

    @Test func `Values that are no longer kept aren't repeated`() throws {
        let world = VirtualWorld(seed: 9)
        var core = world.session(world.transport(phone)).core
        core.start(retained: nil)
        core.receive(SessionPeerReachability(true, peer: watch))
        for number in 0..<2 * EphemeralLimits.keysMax {
            core.moment.now += 1
            try core.show([1], as: "\(number)", at: core.moment.now)
            _ = core.takeRound()
        }
        #expect(core.ephemeralRepeats.due(at: core.moment.now + 3_600).count <= EphemeralLimits.keysMax)
    }

    @Test func `A value that is too large or has no name is refused`() throws {
        let world = VirtualWorld(seed: 4)
        let session = world.session(world.transport(phone))
        #expect(throws: SessionSyncError.self) {
            try session.show([UInt8](repeating: 1, count: 5000), as: EphemeralKey("bytes"))
        }
        #expect(throws: SessionSyncError.outOfRange(field: "ephemeral key")) {
            try session.show(1, as: EphemeralKey(""))
        }
        for number in 0..<100 { try session.show(number, as: EphemeralKey("\(number)")) }
        #expect(session.core.ephemerals.samples.count == EphemeralLimits.keysMax)
        #expect(session.latestValue(of: EphemeralKey<Int>("99"))?.value == 99)
    }

    @Test func `A peer can't show a value in another peer's name, or one beyond the limit`() throws {
        let world = VirtualWorld(seed: 5)
        let session = world.session(world.transport(phone))
        session.start()
        let watch = SessionSource(peerID: "watch", incarnation: 2)
        let bad = [
            Sample(source: SessionSource(peerID: "tablet"), key: "a", sequence: 1, stamp: .zero, value: [1]),
            Sample(source: watch, key: "", sequence: 1, stamp: .zero, value: [1]),
            Sample(source: watch, key: "a", sequence: .max, stamp: .zero, value: [1]),
            Sample(source: watch, key: "a", sequence: 1, stamp: HybridTimestamp(rawValue: .max), value: [1]),
            Sample(source: watch, key: "a", sequence: 1, stamp: .zero, value: [UInt8](repeating: 0, count: 4097)),
        ]
        for sample in bad {
            let message = try message([sample], world)
            session.turn { $0.receive([message]) }
        }
        let flood = try message(
            (0..<65).map { Sample(source: watch, key: "\($0)", sequence: 1, stamp: .zero, value: [1]) }, world)
        session.turn { $0.receive([flood]) }
        #expect(session.statistics.rejected == bad.count + 1)
        #expect(session.core.ephemerals.samples.isEmpty)
        let good = try message([Sample(source: watch, key: "a", sequence: 1, stamp: .zero, value: [1])], world)
        session.turn { $0.receive([good]) }
        #expect(session.core.ephemerals.samples.count == 1)
    }

    @Test func `A value that the transport kept for long is not shown`() async throws {
        let world = VirtualWorld(seed: 6)
        let session = world.session(world.transport(phone))
        session.start()
        let watch = SessionSource(peerID: "watch", incarnation: 2)
        let message = try message([Sample(source: watch, key: "a", sequence: 1, stamp: .zero, value: [1])], world)
        await world.run(.seconds(60))
        session.turn { $0.receive([message]) }
        #expect(session.core.ephemerals.samples.isEmpty)
    }

    private func message(_ samples: [Sample], _ world: VirtualWorld) throws -> AnySessionSyncEnvelope {
        let metadata = SessionSyncMetadata(
            sessionID: sessionID, featureID: "counter", sourcePeerID: "watch", sequence: 0, causalTimestamp: world.now,
            payloadType: EphemeralMessage.payloadType, incarnation: 2)
        return try AnySessionSyncEnvelope(
            SessionSyncEnvelope(metadata: metadata, payload: EphemeralMessage(samples: samples)))
    }
}
