import Foundation
import MeshBase
import MeshEngine
import MeshIdentity
import MeshScenarioTransport
import MeshWire
import Testing

@testable import MeshSession

/// Members compare the results of the events that they have confirmed.
@MainActor @Suite struct StateComparisonTests {
    private let world = VirtualWorld(seed: 202_611_261_541)

    private func session(
        _ peer: SessionPeer, _ incarnation: UInt32, isOdd: Bool = false, version: Int = 1,
        cost: Duration = .zero, digests: Locked<Int> = Locked(0)
    ) -> OddSession {
        var configuration = SyncedSessionConfiguration<[Int], Int>()
        world.adapt(&configuration, incarnation: incarnation)
        configuration.reducerVersion = version
        configuration.measure = { work in
            work()
            digests.withLock { $0 += 1 }
            return cost
        }
        return OddSession(
            sessionID: sessionID, featureID: "odd", transport: world.transport(peer), initialState: [],
            reducer: OddReducer(isOdd: isOdd), conflictPolicy: AcceptingConflictPolicy(), configuration: configuration)
    }

    private func start(_ here: OddSession, _ there: OddSession) async {
        await world.meet()
        here.start()
        there.start()
        await world.settle(until: { here.isMember && there.isMember })
    }

    private func confirm(_ count: Int, _ here: OddSession, _ there: OddSession) async throws {
        let end = here.confirmedCount + UInt64(count)
        for number in 0..<count { try here.submit(number) }
        await world.settle(until: { here.confirmedCount == end && there.confirmedCount == end })
    }

    private func collect(_ session: OddSession) -> Locked<[SessionAlarm]> {
        let (alarms, collected) = (session.alarms(), Locked<[SessionAlarm]>([]))
        Task { for await alarm in alarms { collected.withLock { $0.append(alarm) } } }
        return collected
    }

    @Test func `both members get one alarm that their reducers differ, within two exchanges of the milestone`()
        async throws
    {
        let (here, there) = (session(phone, 1), session(watch, 2, isOdd: true))
        let alarms = (collect(here), collect(there))
        await start(here, there)
        try await confirm(31, here, there)
        await world.run(.seconds(3))
        #expect(alarms.0.withLock(\.isEmpty) && alarms.1.withLock(\.isEmpty), "no milestone yet")
        try await confirm(1, here, there)
        await world.run(.seconds(2))
        #expect(alarms.0.withLock { $0 } == [.stateDiverged(position: 32)])
        #expect(alarms.1.withLock { $0 } == [.stateDiverged(position: 32)])
        try await confirm(64, here, there)
        await world.settle()
        #expect(here.statistics.alarms == 1 && there.statistics.alarms == 1)
        #expect(here.isMember && there.isMember && here.statistics.reincarnations == 0, "nothing is mended")
    }

    @Test func `equal states, and states of other reducer versions, raise nothing`() async throws {
        for (isOdd, version) in [(false, 1), (true, 2)] {
            let world = StateComparisonTests()
            let here = world.session(phone, 1)
            let there = world.session(watch, 2, isOdd: isOdd, version: version)
            await world.start(here, there)
            try await world.confirm(100, here, there)
            await world.world.settle()
            #expect(here.statistics.alarms == 0 && there.statistics.alarms == 0)
        }
    }

    @Test func `a device that was relaunched compares the milestone that it has`() async throws {
        let here = session(phone, 1)
        let there = session(watch, 2)
        await start(here, there)
        try await confirm(40, here, there)
        there.stop()
        var configuration = SyncedSessionConfiguration<[Int], Int>()
        world.adapt(&configuration, incarnation: 2)
        var image = there.image
        image.base.reduced.state = [-1]
        let again = try OddSession(
            restoring: image, transport: there.transport, reducer: OddReducer(isOdd: false),
            conflictPolicy: AcceptingConflictPolicy(), configuration: configuration)
        again.start()
        try await confirm(1, here, again)
        await world.run(.seconds(3))
        #expect(here.statistics.alarms == 1 && again.statistics.alarms == 1)
    }

    @Test func `an hour of taps costs sixty milliseconds of digests, however much one costs`()
        async throws
    {
        let counts = (Locked(0), Locked(0))
        let here = session(phone, 1, cost: .milliseconds(2), digests: counts.0)
        let there = session(watch, 2, isOdd: true, cost: .milliseconds(9), digests: counts.1)
        await start(here, there)
        for _ in 0..<120 {
            try await confirm(32, here, there)
            await world.run(.seconds(29))
        }
        let (ofPhone, ofWatch) = (counts.0.withLock { $0 }, counts.1.withLock { $0 })
        #expect((2...31).contains(ofPhone) && (2...8).contains(ofWatch), "\(ofPhone), \(ofWatch)")
        #expect(here.statistics.alarms == 1 && there.statistics.alarms == 1)
    }

    @Test func `a state that lists a set in memory order is not compared`() {
        #expect(CompactCodec.canonicalDigest(of: Set(1...100)) != nil)
        #expect(CompactCodec.canonicalDigest(of: Shuffled()) == nil)
    }

    @Test func `controls of versions without digests are read, and theirs read ours`() throws {
        let codec = CompactCodec()
        var control = SessionControl(position: 40, chain: 7)
        let golden = try codec.encode(control)
        #expect(try codec.decode(OlderControl.self, from: golden) == OlderControl(position: 40, chain: 7))
        control.stateDigest = StateDigest(position: 32, chain: 6, state: 5, version: 1)
        for codec in [codec, JSONCodec()] as [any PayloadCodec] {
            let bytes = try codec.encode(control)
            #expect(try codec.decode(OlderControl.self, from: bytes) == OlderControl(position: 40, chain: 7))
            #expect(try codec.decode(SessionControl.self, from: bytes) == control)
        }
        #expect(
            try codec.encode(SessionControl(position: 40, chain: 7)) == golden, "without reports nothing is added"
        )
    }
}

/// The fields of a control that a version before digests reads.
private struct OlderControl: Codable, Equatable {
    var position: UInt64
    var chain: UInt64
}

/// Encodes differently each time.
private struct Shuffled: Codable {
    init() {}
    init(from decoder: any Decoder) throws {}
    func encode(to encoder: any Encoder) throws {
        var container = encoder.unkeyedContainer()
        try container.encode(UInt64.random(in: 0 ... .max))
    }
}

private struct OddReducer: SessionSyncReducer {
    let isOdd: Bool

    func reduce(state: inout [Int], event: Int, context: SessionEventContext) {
        if !isOdd || event != 0 { state.append(event) }
    }
}

private typealias OddSession = SyncedSession<[Int], Int, OddReducer, AcceptingConflictPolicy<[Int], Int>>
