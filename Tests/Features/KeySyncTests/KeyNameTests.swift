import Foundation
import MeshStorage
import MeshWire
import Testing

@testable import MeshKeySync

/// Names that Swift considers equal are one key, in any Unicode normal form.
@MainActor @Suite struct KeyNameTests {
    private static let composed = "caf\u{E9}"
    private static let decomposed = "cafe\u{301}"

    @Test func `A name in two normal forms has one digest and one place in a store`() {
        var world = KeyWorld()
        world.replicas["phone"]?.setRule(KeyRule(), of: Self.composed)
        world.replicas["watch"]?.setRule(KeyRule(), of: Self.decomposed)
        world.meetAndSettle()
        world.set("phone", Self.composed, "1")
        world.settle()
        #expect(world.text("watch", Self.composed) == "1")
        #expect(world.replicas["phone"]?.digest().buckets == world.replicas["watch"]?.digest().buckets)
        let names = ["phone", "watch"].compactMap { world.replicas[$0]?.entries.keys.first { $0 == Self.composed } }
        #expect(names.count == 2 && Set(names.map { StorageRouter.storeKey(of: $0) }.map { Array($0.utf8) }).count == 1)
    }

    @Test func `A key stored by an earlier version in the other normal form is found, moved and removed`()
        async throws
    {
        let (store, key) = (MemoryStore(), StorageKey<Int>(Self.composed))
        let world = try RouterWorld(makeStore: { $0 == "phone" ? store : MemoryStore() })
        let phone = world["phone"]
        await phone.router.register(key)
        try await phone.router.attach(to: phone.connection)
        try await phone.router.set(1, for: key)
        let (place, former) = (StorageRouter.storeKey(of: Self.composed), StorageRouter.storeKey(of: Self.decomposed))
        var batch = StoreBatch()
        batch.set(try #require(try store.value(for: place)), for: former)
        batch.removeValue(for: place)
        try store.commit(batch)
        phone.relaunch()
        try await phone.router.attach(to: phone.connection)
        #expect(try await phone.router.get(key) == 1)
        #expect(try store.value(for: place) != nil && store.value(for: former) == nil)
        try await phone.router.set(2, for: key)
        phone.relaunch()
        try await phone.router.attach(to: phone.connection)
        #expect(try await phone.router.get(key) == 2)
    }

    /// A date without its fractions.
    private struct Lossy: Codable, Sendable, Equatable {
        var seconds: Double
        func encode(to encoder: any Encoder) throws { try Int(seconds).encode(to: encoder) }
        init(seconds: Double) { self.seconds = seconds }
        init(from decoder: any Decoder) throws { seconds = Double(try Int(from: decoder)) }
    }

    @Test func `A debug build names the field that a key's coding loses`() async throws {
        try await StorageRouter().set(Lossy(seconds: 1.5), for: StorageKey("lossy"))
        // A loss is reported once per process.
        #expect(CodingLoss.report(from: Lossy(seconds: 1.5), to: Lossy(seconds: 1), in: "a test") == nil)
    }
}
