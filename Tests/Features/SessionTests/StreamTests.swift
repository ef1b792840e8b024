import Foundation
import MeshEngine
import MeshIdentity
import MeshScenarioTransport
import MeshSession
import MeshTransport
import Testing

/// The streams of a session: optimistic and confirmed, independent and bounded.
@MainActor @Suite struct StreamTests {
    let world = VirtualWorld(seed: 21)

    private func closed(_ session: CounterSession) async throws {
        let closing = Task { try await session.close() }
        await world.settle(until: { session.phase == .closed })
        try await closing.value
    }

    @Test func `the confirmed streams of two members are the same`() async throws {
        let (here, there) = await world.pair()
        let streams = [here.confirmedEvents(), there.confirmedEvents(), here.confirmedEvents()]
        for tap in 1...10 {
            try here.submit(.add(tap), at: world.now)
            try there.submit(.add(-tap), at: world.now)
            await world.run(.milliseconds(20))
        }
        await world.settle(until: { here.confirmedCount == 20 && there.confirmedCount == 20 })
        try await closed(here)
        try await closed(there)
        var seen: [[UUID]] = []
        for stream in streams {
            var ids: [UUID] = []
            for await event in stream { ids.append(event.envelope.metadata.eventID) }
            seen.append(ids)
        }
        #expect(seen[0].count == 20)
        #expect(seen[0] == seen[1] && seen[1] == seen[2])
    }

    @Test func `a late subscriber has the state at once, and then the newest`() async throws {
        let (here, there) = await world.pair()
        for _ in 0..<5 { try here.submit(.add(1), at: world.now) }
        await world.settle(until: { there.state.total == 5 })
        var late = there.states().makeAsyncIterator()
        #expect(await late.next()?.total == 5)
        for _ in 0..<5 { try here.submit(.add(1), at: world.now) }
        await world.settle(until: { there.state.total == 10 })
        #expect(await late.next()?.total == 10, "a slow reader doesn't get outdated steps")
    }

    @Test func `a subscriber that does not read costs a bounded number of events`() async throws {
        let (here, there) = await world.pair { $0.isHighRate = { _ in true } }
        let slow = there.remoteEvents()
        for round in 0..<15 {
            for tap in 0..<100 { try here.submit(.add(round * 100 + tap), at: world.now) }
            await world.run(.milliseconds(100))
        }
        await world.settle(until: { there.state.amounts.count == 1500 })
        try await closed(there)
        var kept: [Tap] = []
        for await event in slow { kept.append(event.payload) }
        #expect(kept.count == 1024)
        #expect(kept.last == .add(1499))
    }
}
