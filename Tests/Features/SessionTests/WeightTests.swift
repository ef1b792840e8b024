import Foundation
import MeshEngine
import MeshIdentity
import MeshScenarioTransport
import MeshSession
import MeshStorage
import MeshTransport
import Testing

/// Large events fill the log by their bytes, even without any configuration.
@MainActor @Suite struct WeightTests {
    private struct NoteReducer: SessionSyncReducer {
        func reduce(state: inout Int, event: String, context: SessionEventContext) { state += event.utf8.count }
    }

    private typealias NoteSession = SyncedSession<Int, String, NoteReducer, AcceptingConflictPolicy<Int, String>>

    private func session(
        _ world: VirtualWorld, _ transport: any SessionSyncTransport, _ store: (any SessionStore)?
    ) async throws -> NoteSession {
        var configuration = SyncedSessionConfiguration<Int, String>()
        configuration.incarnation = 1
        configuration.now = { [network = world.network] in network.now }
        configuration.uptime = { [network = world.network] in network.elapsed }
        configuration.wait = { [weak world] in try await world?.sleep($0) }
        return try await NoteSession.open(
            sessionID: sessionID, featureID: "notes", transport: transport, store: store, initialState: 0,
            reducer: NoteReducer(),
            conflictPolicy: AcceptingConflictPolicy(), configuration: configuration)
    }

    private func fill(_ session: NoteSession, _ world: VirtualWorld, byteCount: Int) -> Int {
        let note = String(repeating: "n", count: byteCount)
        var count = 0
        do {
            while true {
                try session.submit(note, at: world.now)
                count += 1
            }
        } catch {
            guard case .logFull? = error as? SessionSyncError else {
                Issue.record("\(error)")
                return count
            }
        }
        return count
    }

    @Test func `large events fill the log by their encoded size, also after a relaunch`() async throws {
        let world = VirtualWorld(seed: 1)
        let store = MemoryStore()
        let limit = SyncedSessionConfiguration<Int, String>().engine.ownUnconfirmedBytesMax
        let here = try await session(world, world.transport(phone), store)
        here.start()
        let count = fill(here, world, byteCount: 100_000)
        #expect(count == limit / 100_000 + 1)
        await world.settle()
        here.stop()
        let again = try await session(world, world.transport(phone), store)
        again.start()
        #expect(again.state == count * 100_000, "the value is read as encoded once")
        #expect(fill(again, world, byteCount: 1) == 0)
    }

    @Test func `without a store bytes count, too, and small events as before`() async throws {
        let world = VirtualWorld(seed: 2)
        let here = try await session(world, world.transport(phone), nil)
        here.start()
        #expect(fill(here, world, byteCount: 1 << 20) == 32)
        let small = try await session(world, world.transport(watch), nil)
        small.start()
        for _ in 0..<2_000 { try small.submit("tap", at: world.now) }
    }
}
