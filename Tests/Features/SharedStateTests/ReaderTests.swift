import Foundation
import MeshConnection
import MeshScenarioTransport
import MeshStorage
import Testing

@testable import MeshSharedState

/// The reader of a widget shows what the app's shared state shows, from its store alone.
@MainActor @Suite struct ReaderTests {
    let world = StateWorld()

    private func read<State: Codable & Sendable & Equatable>(
        _ initialValue: State, merge: SharedStateMerge<State> = .whole, id: String? = nil
    ) throws -> SharedStateReading<State> {
        let store = try #require(world["phone"].store)
        return try SharedStateReader(initialValue: initialValue, id: id, merge: merge, in: store).read()
    }

    @Test func `Own and received changes are read, each with its time`() async throws {
        let here = world["phone"].state(Settings())
        let there = world["watch"].state(Settings())
        #expect(try read(Settings()).value == Settings() && read(Settings()).changedAt == nil)
        try here.update(Settings(volume: 6))
        var changedAt = world.network.now
        await world.run { here.isSynced }
        #expect(try read(Settings()).value.volume == 6)
        let first = try #require(try read(Settings()).changedAt)
        #expect(abs(first.timeIntervalSince(changedAt)) < 0.01)
        await world.run(for: .seconds(60))
        try there.update(Settings(volume: 7))
        changedAt = world.network.now
        await world.run { here.value.volume == 7 && here.isSynced }
        let reading = try read(Settings())
        #expect(reading.value == here.value)
        let age = try #require(reading.age(at: changedAt + 30))
        #expect(abs(age - 30) < 0.01)
    }

    @Test func `Fields that don't fit together are read as every peer shows them`() async throws {
        let here = world["phone"].state(Bounds(), merge: .fields)
        let there = world["watch"].state(Bounds(), merge: .fields)
        await world.run(for: .seconds(5))
        world.cut("phone", "watch")
        try here.update(Bounds(low: 8))
        try there.update(Bounds(high: 5))
        await world.run(for: .seconds(5))
        world.heal()
        await world.run { here.isSynced && there.isSynced }
        #expect(try read(Bounds(), merge: .fields).value == here.value)
    }

    @Test func `Values that the app's closure merges are merged`() async throws {
        let merge = SharedStateMerge<Set<Int>>.custom { $0.union($1) }
        let here = world["phone"].state(Set<Int>(), id: "numbers", merge: merge)
        let there = world["watch"].state(Set<Int>(), id: "numbers", merge: merge)
        world.cut("phone", "watch")
        try here.update([1])
        try there.update([2])
        await world.run(for: .seconds(5))
        world.heal()
        await world.run { here.value.count == 2 }
        #expect(try read(Set<Int>(), merge: merge, id: "numbers").value == [1, 2])
    }

    @Test func `A value that can't be read is an error with a code`() async throws {
        struct Other: Codable, Sendable, Equatable { var word = "" }
        let here = world["phone"].state(Settings(), id: "settings")
        try here.update(Settings(volume: 6))
        await world.run(for: .seconds(5))
        func code(_ body: () throws -> Void) throws -> StorageError.Code? {
            do { try body() } catch let error as StorageError { return error.code }
            return nil
        }
        #expect(try code { _ = try read(Other(), id: "settings") } == .unreadableState)
        var batch = StoreBatch()
        batch.set(
            Array("{".utf8),
            for: StateArchive.storeKey(StateArchive.featureID("settings"), TransportConnection.sharedScope))
        try #require(world["phone"].store).commit(batch)
        #expect(try code { _ = try read(Settings(), id: "settings") } == .damaged)
    }
}
