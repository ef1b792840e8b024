import Foundation
import MeshBase
import MeshScenarioTransport
import MeshTransport
import Testing

@testable import MeshSession

/// The behavior that a Combine subscriber relies on, without Combine.
@MainActor @Suite struct DemandTests {
    private let world = VirtualWorld(seed: 61)
    private let taken = Locked<[Int]>([])
    private let hasFinished = Locked(false)

    /// - Parameter more: the additional demand after each element.
    private func pump(_ session: CounterSession, more: Int? = 0) -> DemandPump {
        let pump = DemandPump()
        pump.start {
            session.states()
        } receive: { [taken] state in
            taken.withLock { $0.append(state.total) }
            return more
        } finish: { [hasFinished] in
            hasFinished.withLock { $0 = true }
        }
        return pump
    }

    private func close(_ session: CounterSession) async throws {
        let closing = Task { try await session.close() }
        await world.settle(until: { session.phase == .closed })
        try await closing.value
    }

    @Test func `A subscriber without demand gets nothing, and then the newest element`() async throws {
        let session = world.session(world.transport(phone))
        let pump = pump(session)
        await world.run(.milliseconds(50))
        for _ in 0..<10 { try session.submit(.add(1)) }
        await world.run(.milliseconds(50))
        #expect(taken.withLock { $0 } == [])
        pump.request(1)
        await world.run(.milliseconds(50))
        #expect(taken.withLock { $0 } == [10])
        try session.submit(.add(1))
        await world.run(.milliseconds(50))
        #expect(taken.withLock { $0 } == [10])
        pump.request(2)
        try session.submit(.add(1))
        await world.run(.milliseconds(50))
        #expect(taken.withLock { $0 } == [10, 12], "the newest waiting element, and one more is requested")
        try session.submit(.add(1))
        await world.run(.milliseconds(50))
        #expect(taken.withLock { $0 } == [10, 12, 13])
    }

    @Test(arguments: [1, nil])
    func `A subscriber that requests one more with each element gets all`(more: Int?) async throws {
        let session = world.session(world.transport(phone))
        let pump = pump(session, more: more)
        pump.request(1)
        for _ in 0..<5 {
            await world.run(.milliseconds(50))
            try session.submit(.add(1))
        }
        await world.run(.milliseconds(50))
        #expect(taken.withLock { $0 } == [0, 1, 2, 3, 4, 5])
        pump.request(nil)
        pump.request(.max)
        try await close(session)
        await world.run(.milliseconds(50))
        #expect(hasFinished.withLock { $0 })
    }

    @Test func `A cancelled subscriber gets nothing more, not even the end`() async throws {
        let session = world.session(world.transport(phone))
        let pump = pump(session, more: nil)
        pump.request(nil)
        await world.run(.milliseconds(50))
        pump.cancel()
        try session.submit(.add(1))
        try await close(session)
        await world.run(.milliseconds(50))
        #expect(taken.withLock { $0 } == [0])
        #expect(!hasFinished.withLock { $0 })
    }

    @Test func `A released pump ends, with or without demand`() async throws {
        let session = world.session(world.transport(phone))
        for count in [0, nil] {
            var pump: DemandPump? = pump(session)
            pump?.request(count)
            await world.run(.milliseconds(50))
            #expect(session.stateTopic.subscriberCount == 1)
            pump = nil
            await world.run(.milliseconds(50))
            #expect(session.stateTopic.subscriberCount == 0)
        }
    }
}
