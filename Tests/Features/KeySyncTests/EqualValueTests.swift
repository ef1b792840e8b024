import Foundation
import MeshScenarioTransport
import Testing

@testable import MeshKeySync

@MainActor @Suite("Storing an equal value") struct EqualValueTests {
    let volume = StorageKey<Int>("volume")
    let tags = StorageKey<Set<Int>>("tags")
    let speed = StorageKey<Double>("speed")

    private func both(_ world: RouterWorld, are value: Int) async throws -> Bool {
        try await world.run {
            let there = try await world["watch"].router.get(volume)
            return try await world["phone"].router.get(volume) == value && there == value
        }
    }

    @Test func `Storing the stored value loses no change that a peer makes meanwhile`() async throws {
        let world = try RouterWorld()
        try await world.attachAll()
        try await world["phone"].router.set(5, for: volume)
        #expect(try await both(world, are: 5))
        world.cut()
        try await world["watch"].router.set(9, for: volume)
        try await world.run(for: .seconds(1))
        try await world["phone"].router.set(5, for: volume)
        var batch = KeyBatch()
        try batch.set(5, for: volume)
        try await world["phone"].router.commit(batch)
        world.network.heal()
        #expect(try await both(world, are: 9))
    }

    @Test func `Equal sets and NaNs are the same value, whatever their bytes`() async throws {
        let world = try RouterWorld()
        try await world.attachAll()
        let router = world["phone"].router
        try await router.set(Set(0..<40), for: tags)
        try await router.set(.nan, for: speed)
        #expect(try await world.run { await router.status(of: "tags") == .synced })
        #expect(try await world.run { await router.status(of: "speed") == .synced })
        world.cut()
        // Equal elements at other positions.
        var other = Set<Int>(minimumCapacity: 4096)
        for number in (0..<40).reversed() { other.insert(number) }
        try await router.set(other, for: tags)
        try await router.set(.nan, for: speed)
        for name in ["tags", "speed"] { #expect(await router.status(of: name) == .synced, "\(name)") }
        try await router.set(other.union([40]), for: tags)
        #expect(await router.status(of: "tags") == .pending)
    }

    @Test func `Storing an equal value before attach changes nothing, and a removal before attach counts`()
        async throws
    {
        let world = try RouterWorld()
        try await world.attachAll()
        try await world["phone"].router.set(5, for: volume)
        try await world["phone"].router.set([1], for: tags)
        #expect(try await both(world, are: 5))
        world["phone"].relaunch()
        try await world["watch"].router.set(9, for: volume)
        try await world.run(for: .seconds(1))
        try await world["phone"].router.set(5, for: volume)
        try await world["phone"].router.remove(tags)
        try await world["phone"].router.attach(to: world["phone"].connection)
        #expect(try await both(world, are: 9))
        #expect(try await world.run { try await world["watch"].router.get(tags) == nil })
    }

    @Test(arguments: [true, false])
    func `Storing the default where nothing is stored loses to any value of a peer`(isAttached: Bool) async throws {
        let world = try RouterWorld()
        try await world["watch"].router.attach(to: world["watch"].connection)
        try await world["watch"].router.set(9, for: volume)
        try await world.run(for: .seconds(2))
        world.cut()
        let phone = world["phone"].router
        if isAttached { try await phone.attach(to: world["phone"].connection) }
        let shown = StoredValue(volume, initialValue: 5, router: phone)
        shown.set(5)
        #expect(try await world.run(for: .seconds(3)) { try await phone.get(volume) == 5 })
        if !isAttached { try await phone.attach(to: world["phone"].connection) }
        world.network.heal()
        #expect(try await both(world, are: 9))
        #expect(try await world.run { shown.value == 9 })
        // Now the value is a change.
        shown.set(5)
        #expect(try await both(world, are: 5))
    }

    @Test func `A default reaches a peer that has nothing, and comes back after a removal`() async throws {
        let world = try RouterWorld()
        try await world.attachAll()
        let shown = StoredValue(volume, initialValue: 5, router: world["phone"].router)
        shown.set(5)
        #expect(try await both(world, are: 5))
        try await world["watch"].router.remove(volume)
        #expect(try await world.run { try await world["phone"].router.get(volume) == nil })
        shown.set(5)
        #expect(try await both(world, are: 5))
        #expect(try await world.run { await world["phone"].router.status(of: "volume") == .synced })
    }

    @Test func `A view shows the value as its bytes decode`() async throws {
        let router = StorageRouter()
        let shown = StoredValue(
            StorageKey<Lossy>("lossy"), initialValue: Lossy(seconds: 0), router: router)
        shown.set(Lossy(seconds: 1.75))
        #expect(shown.value.seconds == 1)
    }

    /// A value that is written in whole seconds.
    private struct Lossy: Codable, Equatable {
        var seconds: Double

        init(seconds: Double) { self.seconds = seconds }
        init(from decoder: any Decoder) throws { seconds = try Double(decoder.singleValueContainer().decode(Int.self)) }
        func encode(to encoder: any Encoder) throws {
            var container = encoder.singleValueContainer()
            try container.encode(Int(seconds))
        }
    }
}
