import Foundation
import GroceriesExample
import MeshEngine
import MeshIdentity
import MeshScenarioTransport
import MeshStorage
import MeshTransport
import MeshWire
import Testing

@testable import MeshSession

/// Two versions of an app in one session, as Docs/Guides/Determinism.md describes it.
@MainActor @Suite struct VersionTests {
    private let world = VirtualWorld(seed: 81)

    private func older(
        _ transport: any SessionSyncTransport, _ incarnation: UInt32, in store: MemoryStore? = nil,
        configure: (inout SyncedSessionConfiguration<Groceries, GroceryEvent>) -> Void = { _ in }
    ) async throws -> GrocerySession {
        var configuration = SyncedSessionConfiguration<Groceries, GroceryEvent>()
        world.adapt(&configuration, incarnation: incarnation)
        configure(&configuration)
        return try await GrocerySession.open(
            GroceryFeature(), sessionID: sessionID, over: transport, store: store, configuration: configuration)
    }

    private func newer(
        _ transport: any SessionSyncTransport, _ incarnation: UInt32, in store: MemoryStore? = nil
    ) async throws -> NewerGrocerySession {
        var configuration = SyncedSessionConfiguration<NewerGroceries, NewerGroceryEvent>()
        world.adapt(&configuration, incarnation: incarnation)
        return try await NewerGrocerySession.open(
            NewerGroceryFeature(), sessionID: sessionID, over: transport, store: store, configuration: configuration)
    }

    /// The store of an earlier version of the app, with milk on the list.
    private func storeOfOlder(_ transport: any SessionSyncTransport) async throws -> MemoryStore {
        let store = MemoryStore()
        let before = try await older(transport, 1, in: store)
        before.start()
        try before.submit(.add("milk"))
        await world.settle()
        try await closed(before)
        return store
    }

    private func closed(_ session: GrocerySession) async throws {
        let closing = Task { try await session.close() }
        await world.settle(until: { session.phase == .closed })
        try await closing.value
    }

    @Test func `a new event is kept unread, and read once the app is updated`() async throws {
        let store = MemoryStore()
        let transport = world.transport(phone)
        let old = try await older(transport, 1, in: store)
        let new = try await newer(world.transport(watch), 2)
        await world.meet()
        old.start()
        new.start()
        await world.settle(until: { old.isMember && new.isMember })
        try old.submit(.add("milk"))
        await world.settle(until: { new.state.items == ["milk"] })
        try new.submit(.note("oat", on: "milk"))
        try new.submit(.buy("milk"))
        await world.settle(until: { old.confirmedCount == 3 && new.confirmedCount == 3 })
        #expect(old.state.items == ["milk"] && old.state.bought == ["milk"])
        #expect(old.statistics.unread == 1 && old.statistics.rejected == 0)
        #expect(new.status(of: "phone")?.unacknowledgedCount == 0, "it is held there")
        #expect(new.state.notes == ["milk": "oat"])

        try await closed(old)
        let updated = try await newer(transport, 1, in: store)
        #expect(updated.state == new.state, "from its own store, before it has met a peer")
        updated.start()
        try updated.submit(.note("two", on: "milk"))
        await world.settle(until: { new.state.notes == ["milk": "two"] && updated.state == new.state })
    }

    @Test func `a new field is absent from what an earlier version wrote, and skipped by it`() async throws {
        let transport = world.transport(phone)
        let store = try await storeOfOlder(transport)
        let new = try await newer(transport, 1, in: store)
        #expect(new.state.items == ["milk"] && new.state.notes == nil)
        new.start()
        try new.submit(.buy("milk"))
        let old = try await older(world.transport(watch), 2)
        old.start()
        await world.settle(until: { old.isMember && new.isMember && old.state.bought == ["milk"] })
        #expect(old.state.items == ["milk"])
    }

    @Test func `an older app joins with a copy in which the new events are folded`() async throws {
        let new = try await newer(world.transport(phone), 1)
        let other = try await newer(world.transport(watch), 2)
        await world.meet()
        new.start()
        other.start()
        await world.settle(until: { new.isMember && other.isMember })
        try new.submit(.note("oat", on: "0"))
        for item in 0..<200 { try new.submit(.add("\(item)")) }
        await world.settle(until: { new.confirmedCount == 201 && other.confirmedCount == 201 })
        await world.settle()
        #expect(new.core.engine.logCount < 200)
        let old = try await older(world.transport(tablet), 3) { $0.waitsForInvitation = true }
        old.start()
        new.invite("tablet")
        await world.settle(until: { old.isMember && old.state.items == new.state.items })
        #expect(old.statistics.unread == 0)
        try old.submit(.buy("0"))
        await world.settle(until: { new.state.bought == ["0"] && new.state.notes == ["0": "oat"] })
    }

    @Test func `an older app rejects a copy with an unreadable event until it is updated`()
        async throws
    {
        let new = try await newer(world.transport(phone), 1)
        new.start()
        try new.submit(.add("milk"))
        try new.submit(.note("oat", on: "milk"))
        let transport = world.transport(watch)
        let old = try await older(transport, 2)
        await world.meet()
        old.start()
        await world.settle()
        #expect(!old.isMember)
        #expect(old.statistics.rejected > 0)
        #expect(old.state.items == ["milk"], "the state beside it is shown")
        old.stop()
        let updated = try await newer(transport, 3)
        updated.start()
        await world.settle(until: { updated.isMember && updated.state == new.state })
    }

    @Test func `a copy in a codec that the library no longer has is rejected by the codec's name`() {
        let coding = CheckpointCoding(codec: CompactCodec())
        let error = #expect(throws: SessionSyncError.self) {
            try coding.checkpoint(SessionCheckpoint<Groceries, GroceryEvent>.self, from: [3, 0xA0])
        }
        #expect(error.map { "\($0)" }?.contains("codec 3 is cbor") == true)
    }

    @Test func `an app rolled back to its earlier version doesn't open data that it can't read`() async throws {
        let store = MemoryStore()
        let transport = world.transport(phone)
        let new = try await newer(transport, 1, in: store)
        new.start()
        try new.submit(.note("oat", on: "milk"))
        await world.settle()
        new.stop()
        let error = await #expect(throws: StorageError.self) { _ = try await older(transport, 1, in: store) }
        #expect(error?.code == .unreadableState)
        let text = error?.localizedDescription ?? ""
        #expect(text.contains("event 1 of phone") && text.contains("GroceryEvent"), "\(text)")
        #expect(text.contains("note") && text.contains("Docs/Guides/Determinism.md"), "\(text)")
        let again = try await newer(transport, 1, in: store)
        #expect(again.state.notes == ["milk": "oat"], "nothing was touched")
    }

    @Test func `a new non-optional field makes earlier states unreadable`() async throws {
        let transport = world.transport(phone)
        let store = try await storeOfOlder(transport)
        var configuration = SyncedSessionConfiguration<Strict, GroceryEvent>()
        world.adapt(&configuration, incarnation: 1)
        let error = await #expect(throws: StorageError.self) {
            _ = try await SyncedSession.open(
                sessionID: sessionID, featureID: "groceries", transport: transport, store: store,
                initialState: Strict(),
                reducer: StrictReducer(), conflictPolicy: AcceptingConflictPolicy(), configuration: configuration)
        }
        #expect(error?.code == .unreadableState)
        let text = error?.localizedDescription ?? ""
        #expect(text.contains("the state can't be read as Strict") && text.contains("notes"), "\(text)")
    }

    private struct Strict: Codable, Sendable {
        var items: [String] = []
        var bought: [String] = []
        var notes: [String: String] = [:]
    }

    private struct StrictReducer: SessionSyncReducer {
        func reduce(state: inout Strict, event: GroceryEvent, context: SessionEventContext) {}
    }
}
