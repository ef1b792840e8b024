import Foundation
import MeshRegister
import MeshScenarioTransport
import MeshStorage
import MeshWire
import Testing

@testable import MeshKeySync

/// The reader of a widget has the keys that the app's router has, from its store alone.
@MainActor @Suite struct ReaderTests {
    let volume = StorageKey<Int>("volume")

    @Test func `Set, received and removed keys are read`() async throws {
        let world = try RouterWorld()
        try await world.attachAll()
        let reader = StoredKeyReader(world["phone"].store)
        #expect(try reader.value(of: volume) == nil && reader.changedAt(volume) == nil)
        try await world["phone"].router.set(7, for: volume)
        let changedAt = world.network.now
        #expect(try reader.value(of: volume) == 7)
        let read = try #require(try reader.changedAt(volume))
        #expect(abs(read.timeIntervalSince(changedAt)) < 0.01)
        await world["watch"].router.register(volume)
        #expect(try await world.run { await world["watch"].router.status(of: "volume") == .synced })
        try await world["watch"].router.set(8, for: volume)
        #expect(try await world.run { try reader.value(of: volume) == 8 })
        try await world["watch"].router.remove(volume)
        #expect(try await world.run { try reader.value(of: volume) == nil })
        #expect(try reader.changedAt(volume) != nil)
    }

    @Test func `A name is found in each normal form that a version has stored`() async throws {
        let world = try RouterWorld()
        try await world.attachAll()
        let (composed, decomposed) = ("caf\u{E9}", "cafe\u{301}")
        try await world["phone"].router.set(1, for: StorageKey<Int>(decomposed))
        let store = world["phone"].store
        #expect(try StoredKeyReader(store).value(of: StorageKey<Int>(composed)) == 1)
        #expect(try StoredKeyReader(store).value(of: StorageKey<Int>(decomposed)) == 1)
        // An earlier version's entry.
        let entry = try #require(try store.value(for: StorageRouter.storeKey(of: composed)))
        let earlier = MemoryStore()
        var batch = StoreBatch()
        batch.set(entry, for: StorageRouter.storeKey(of: decomposed))
        try earlier.commit(batch)
        #expect(try StoredKeyReader(earlier).value(of: StorageKey<Int>(decomposed)) == 1)
    }

    @Test func `A key that can't be read is an error with a code`() async throws {
        let world = try RouterWorld()
        try await world.attachAll()
        try await world["phone"].router.set(7, for: StorageKey<Int>("volume", schema: 2))
        let reader = StoredKeyReader(world["phone"].store)
        func code(_ body: () throws -> Void) throws -> KeySyncError.Code? {
            do { try body() } catch let error as KeySyncError { return error.code }
            return nil
        }
        #expect(try code { _ = try reader.value(of: volume) } == .newerSchema(key: "volume", schema: 2))
        var batch = StoreBatch()
        batch.set([1, 2, 3], for: StorageRouter.storeKey(of: "volume"))
        try world["phone"].store.commit(batch)
        #expect(try code { _ = try reader.value(of: volume) } == .unreadable(key: "volume"))
        #expect(try code { _ = try reader.changedAt(volume) } == .unreadable(key: "volume"))
    }
}
