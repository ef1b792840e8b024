import Foundation
import MeshEngine
import MeshIdentity
import MeshScenarioTransport
import MeshSession
import MeshTransport
import Testing

/// Taps without an effect. `delivery(of:)` reports them as such.
@MainActor @Suite struct EffectlessTests {
    let world = VirtualWorld(seed: 12)

    private func session(_ peer: SessionPeer, _ incarnation: UInt32) -> BoundedSession {
        var configuration = CounterConfiguration()
        world.adapt(&configuration, incarnation: incarnation)
        configuration.isHighRate = { $0 == .add(-1) }
        return BoundedSession(
            sessionID: sessionID, featureID: "bounded", transport: world.transport(peer), initialState: Counter(),
            reducer: BoundedReducer(), conflictPolicy: FivePolicy(), configuration: configuration)
    }

    private func pair() async -> (here: BoundedSession, there: BoundedSession) {
        let (here, there) = (session(phone, 1), session(watch, 2))
        await world.meet()
        here.start()
        there.start()
        await world.settle(until: { here.isMember && there.isMember })
        return (here, there)
    }

    @Test func `A tap that the policy rejects reports so from the start to its confirmation`() async throws {
        let (here, there) = await pair()
        let five = try here.submit(.add(5), at: world.now)
        let refused = try here.submit(.add(1), at: world.now)
        #expect(here.delivery(of: five).effect == .applied)
        #expect(here.delivery(of: refused) == SessionEventDelivery(step: .submitted, effect: .rejected))
        #expect(here.unconfirmedEffectCount == 1, "as `mesh peer` counts")
        await world.settle(until: { here.delivery(of: refused).step == .confirmed })
        #expect(here.delivery(of: refused).effect == .rejected)
        #expect(here.delivery(of: five.metadata.eventID) == SessionEventDelivery(step: .confirmed, effect: .applied))
        #expect(here.state.total == 5 && there.state.total == 5)
        #expect(here.unconfirmedEffectCount == 0 && here.confirmedCount == 2)
    }

    @Test func `A tap without effect reports so, and is confirmed like any other`() async throws {
        let (here, there) = await pair()
        let unchanged = try here.submit(.add(0), at: world.now)
        #expect(here.delivery(of: unchanged).effect == .unchanged)
        #expect(here.delivery(of: try here.submit(.add(2), at: world.now)).effect == .applied)
        #expect(here.delivery(of: try here.submit(.add(-1), at: world.now)).effect == .applied, "of a high rate")
        await world.settle(until: { here.delivery(of: unchanged).step == .confirmed })
        #expect(here.delivery(of: unchanged).effect == .unchanged && there.state == here.state)
    }

    @Test func `A late event's effect on a tap is reported`() async throws {
        let (here, there) = await pair()
        world.network.partition([phone], [watch])
        await world.run(.seconds(1))
        try there.submit(.add(4), at: world.now)
        await world.run(.seconds(1))
        let unchanged = try here.submit(.add(0), at: world.now)
        let two = try here.submit(.add(2), at: world.now)
        #expect(here.delivery(of: two).effect == .applied)
        world.network.heal()
        await world.settle(until: { here.delivery(of: two).effect == .rejected })
        #expect(here.delivery(of: two).step != .unknown && here.state.total == 4)
        #expect(here.delivery(of: unchanged).effect == .applied, "no longer known")
        await world.settle(until: { here.delivery(of: two).step == .confirmed })
        #expect(here.delivery(of: two).effect == .rejected && there.state.total == 4)
    }
}

private typealias BoundedSession = SyncedSession<Counter, Tap, BoundedReducer, FivePolicy>

private struct BoundedReducer: SessionSyncReducer {
    func reduce(state: inout Counter, event: Tap, context: SessionEventContext) {
        guard case .add(let amount) = event, amount != 0 else { return }
        state.total += amount
    }
}

/// Rejects an event that would make the total greater than five.
private struct FivePolicy: SessionConflictPolicy {
    func shouldApply(event: Tap, context: SessionConflictContext<Counter>) -> Bool {
        guard case .add(let amount) = event else { return true }
        return context.state.total + amount <= 5
    }
}
