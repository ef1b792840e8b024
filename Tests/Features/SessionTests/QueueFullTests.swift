import Foundation
import MeshBase
import MeshEngine
import MeshIdentity
import MeshScenarioTransport
import MeshSession
import MeshTransport
import Testing

/// A transport whose queue is full for the first sends.
private struct CrowdedTransport: WrappingTransport {
    let wrapped: any SessionSyncTransport
    let refusals: Locked<Int>

    func send(_ envelope: AnySessionSyncEnvelope, mode: SessionDeliveryMode, to peer: SessionPeer?) async throws {
        let isFull = refusals.withLock { refusals in
            refusals -= 1
            return refusals >= 0
        }
        if isFull { throw SessionSyncError.queueFull(limit: 1) }
        try await wrapped.send(envelope, mode: mode, to: peer)
    }
}

@MainActor @Suite struct QueueFullTests {
    let world = VirtualWorld(seed: 5)

    private func phoneSession(refusals: Int) -> CounterSession {
        let transport = CrowdedTransport(
            wrapped: world.transport(phone), refusals: Locked(refusals))
        return world.session(transport) { $0.isHighRate = { _ in true } }
    }

    @Test func `a burst that fills the transport's queue is slowed down and not dropped`() async throws {
        let here = phoneSession(refusals: 50)
        let there = world.session(world.transport(watch), incarnation: 2)
        await world.meet()
        here.start()
        there.start()
        await world.settle()
        for _ in 0..<20 { try here.submit(.add(1), at: world.now) }
        await world.settle(until: { there.state.total == 20 })
        #expect(there.statistics.gaps == 0)
        #expect(here.statistics.sendFailures == 0)
    }

    @Test func `a queue that stays full fails the send, and the event arrives once there is space`() async throws {
        let here = phoneSession(refusals: 125)
        let there = world.session(world.transport(watch), incarnation: 2)
        await world.meet()
        here.start()
        there.start()
        await world.settle()
        let id = try here.submit(.add(1), at: world.now).metadata.eventID
        await world.settle(until: { here.statistics.sendFailures == 1 })
        #expect(here.lastSendError as? SessionSyncError == .queueFull(limit: 1))
        #expect(there.state.total == 0)
        await world.settle(until: { here.delivery(of: id).step == .confirmed })
        #expect(there.state.total == 1)
    }
}
