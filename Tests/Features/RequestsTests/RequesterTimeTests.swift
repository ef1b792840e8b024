import Foundation
import MeshBase
import MeshConnection
import MeshScenarioTransport
import MeshTransport
import Testing

@testable import MeshRequests

/// The requester's use of its clock.
@Suite struct RequesterTimeTests {
    @Test func `A pause ends with a clock that rounds deadlines down`() async throws {
        let world = World(seed: 1)
        let device = try world.device(phone)
        let pauses = Requester(device.connection)
        let half = Duration(secondsComponent: 0, attosecondsComponent: 500_000_000)
        for _ in 0..<2 {
            try await world.finish { try await pauses.pause(.milliseconds(5) + half) }
        }
    }

    @Test func `An unreachable time doesn't trap`() async throws {
        let world = World(seed: 1)
        let connection = TransportConnection(
            transport: world.network.makeTransport(localPeer: phone), clock: SystemClock())
        let pauses = Requester(connection)
        let never = Pending { try await pauses.pause(.seconds(Int64.max)) }
        try await pauses.pause(.zero)
        never.task.cancel()
        await #expect(throws: ConnectionError.cancelled) { try await never.task.value }
    }
}
