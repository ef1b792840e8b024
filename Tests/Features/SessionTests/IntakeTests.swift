import Foundation
import MeshEngine
import MeshIdentity
import MeshScenarioTransport
import MeshSession
import MeshTransport
import Testing

/// The snapshots that a session accepts.
@MainActor @Suite struct IntakeTests {
    let world = VirtualWorld(seed: 2)

    /// A watch whose transport has kept a snapshot of the phone that is `age` old.
    private func watchWithRetainedSnapshot(
        age: Duration, phoneStays: Bool, total: Int = 5,
        configure: (inout SyncedSessionConfiguration<Counter, Tap>) -> Void = { _ in }
    ) async throws -> CounterSession {
        let transport = world.transport(phone)
        let watchTransport = world.transport(watch)
        let here = world.session(transport)
        here.start()
        try here.submit(.add(total), at: world.now)
        await world.settle(until: { watchTransport.latestPeerSnapshot(featureID: "counter") != nil })
        await world.settle()
        here.stop()
        if !phoneStays { await transport.close() }
        world.network.advance(by: age)
        let there = world.session(watchTransport, incarnation: 2, configure: configure)
        there.start()
        await world.settle()
        return there
    }

    @Test func `a retained snapshot within the budget is accepted without a live peer`() async throws {
        let there = try await watchWithRetainedSnapshot(age: .seconds(60), phoneStays: false)
        #expect(there.state.total == 5)
    }

    @Test func `a retained snapshot beyond the budget is rejected without a live peer`() async throws {
        let there = try await watchWithRetainedSnapshot(age: .seconds(3600), phoneStays: false)
        #expect(there.state.total == 0)
        #expect(there.statistics.snapshotsRefused == 1)
    }

    @Test func `a snapshot confirmed by a live peer is never too old`() async throws {
        let there = try await watchWithRetainedSnapshot(age: .seconds(3600), phoneStays: true)
        #expect(there.state.total == 5)
    }

    @Test func `the age is corrected by the clock offset`() async throws {
        let there = try await watchWithRetainedSnapshot(age: .seconds(400), phoneStays: false) { configuration in
            // The phone's clock is behind, so a snapshot that looks 400 seconds old is 200 seconds old.
            configuration.clockOffsetSeconds = -200
        }
        #expect(there.state.total == 5)
    }

    @Test func `a state that the feature calls idle is rejected, and a fresh one requested`() async throws {
        let there = try await watchWithRetainedSnapshot(age: .zero, phoneStays: true) { configuration in
            configuration.isIdle = { $0.total < 10 }
        }
        #expect(there.state.total == 0)
        #expect(there.statistics.snapshotsRefused >= 1)
    }

    @Test func `a session's id is found through its snapshots, unless it is known to be over`() async throws {
        let here = world.session(world.transport(phone))
        let watchTransport = world.transport(watch)
        here.start()
        try here.submit(.add(1), at: world.now)
        await world.settle(until: { watchTransport.latestPeerSnapshot(featureID: "counter") != nil })
        var found: [UUID] = []
        var ended: [UUID] = []
        let all = watchTransport.sessions(featureID: "counter")
        var over = SessionTombstones()
        over.insert(sessionID)
        let open = watchTransport.sessions(featureID: "counter", ended: over)
        let others = watchTransport.sessions(featureID: "another")
        await world.settle()
        await watchTransport.close()
        for await id in all { found.append(id) }
        for await id in open { ended.append(id) }
        for await id in others { ended.append(id) }
        #expect(found == [sessionID])
        #expect(ended.isEmpty)
    }
}
