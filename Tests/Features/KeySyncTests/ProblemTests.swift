import Foundation
import MeshBase
import MeshConnection
import MeshScenarioTransport
import MeshStorage
import MeshTestSupport
import MeshTransport
import MeshWire
import Observation
import Testing

@testable import MeshKeySync

/// A view model, as in an app.
@MainActor @Observable
private final class Player {
    @ObservationIgnored @Stored<Double> var volume: Double
    @ObservationIgnored @Stored<Picky> var picky: Picky
    @ObservationIgnored @Stored("player.title") var title = "none"

    init(router: StorageRouter) {
        _volume = Stored(wrappedValue: 0.5, "volume", router: router)
        _picky = Stored(wrappedValue: Picky(), "picky", router: router)
    }
}

/// Throws when it encodes a negative number.
private struct Picky: Codable, Sendable, Equatable {
    var number = 1

    func encode(to encoder: any Encoder) throws {
        guard number >= 0 else {
            throw EncodingError.invalidValue(number, .init(codingPath: [], debugDescription: "a negative number"))
        }
        var container = encoder.singleValueContainer()
        try container.encode(number)
    }

    init(number: Int = 1) { self.number = number }
    init(from decoder: any Decoder) throws { number = try decoder.singleValueContainer().decode(Int.self) }
}

@MainActor @Suite struct ProblemTests {
    @Test func `A key that has only a name is the same on both devices`() async throws {
        let world = try RouterWorld()
        let (phone, watch) = (Player(router: world["phone"].router), Player(router: world["watch"].router))
        try await world.attachAll()
        phone.volume = 0.7
        #expect(try await world.run { watch.volume == 0.7 })
        #expect(phone.title == "none")
        #expect(await world["phone"].router.problems.isEmpty)
    }

    @Test func `A write that fails is a problem until one succeeds`() async throws {
        let world = try RouterWorld()
        let router = world["phone"].router
        let player = Player(router: router)
        try await world.attachAll()
        player.picky = Picky(number: -1)
        #expect(player.picky == Picky() && router.problems.map(\.code) == [.writeFailed])
        #expect(router.problems.first?.message.hasPrefix("the key 'picky' wasn't changed") == true)
        player.picky = Picky(number: 2)
        #expect(player.picky.number == 2 && router.problems.isEmpty)
        let large = StoredValue(StorageKey<Data>("large"), initialValue: Data(), router: router)
        large.set(Data(count: KeyLimits.valueBytesMax + 1))
        #expect(try await world.run(for: .seconds(2)) { router.problems.map(\.code) == [.writeFailed] })
        large.set(Data())
        #expect(try await world.run(for: .seconds(2)) { router.problems.isEmpty })
    }

    @Test func `A value too large to travel by itself is a problem, until the app sends it`() async throws {
        let key = StorageKey<Data>("picture")
        let world = try RouterWorld()
        let router = world["phone"].router
        try await router.set(Data(count: 70_000), for: key)
        try await world.attachAll()
        #expect(router.problems.map(\.code) == [.valueTooLarge])
        #expect(router.problems.first?.message.contains("'picture' stays on this device: 7") == true)
        try await world.run(for: .seconds(3))
        #expect(router.problems.count == 1)
        await router.sync(key, overridingPolicy: true)
        #expect(try await world.run { router.problems.isEmpty })
        #expect(try await world["watch"].router.get(key)?.count == 70_000)
    }

    @Test func `A key that a peer doesn't take is a problem on this device`() async throws {
        let world = try RouterWorld()
        await world["watch"].router.register(StorageKey<Int>("steps", availability: .watchOnly))
        try await world.attachAll()
        try await world["phone"].router.set(7, for: StorageKey<Int>("steps"))
        let router = world["phone"].router
        #expect(try await world.run(for: .seconds(2)) { router.problems.map(\.code) == [.keyRefused] })
        #expect(router.problems.first?.message == "'watch' doesn't accept the key 'steps'")
        await world["watch"].router.register(StorageKey<Int>("steps"))
        try await router.set(8, for: StorageKey<Int>("steps"))
        #expect(try await world.run { router.problems.isEmpty })
    }

    @Test func `A shared secret over a link that doesn't encrypt is a problem`() async throws {
        let world = try RouterWorld()
        try await world.attachAll()
        let router = world["phone"].router
        try await router.set("secret", for: StorageKey<String>("token", isSecured: true, sharesSecured: true))
        try await router.set("mine", for: StorageKey<String>("own", isSecured: true))
        #expect(router.problems.map(\.subject) == ["token"])
        #expect(router.problems.first?.code == .keyRefused)
    }

    @Test func `A value that can't be read is a problem until another is stored`() async throws {
        let world = try RouterWorld()
        try await world.attachAll()
        let router = world["phone"].router
        try await router.set("loud", for: StorageKey<String>("volume", codec: JSONCodec()))
        await #expect(throws: KeySyncError.self) { try await router.get(StorageKey<Int>("volume")) }
        #expect(router.problems.map(\.code) == [.unreadableValue] && router.problems.first?.subject == "volume")
        try await router.set(7, for: StorageKey<Int>("volume"))
        #expect(router.problems.isEmpty)
    }

    @Test func `A store that rejects writes is a problem until it accepts them`() async throws {
        let store = FailingStore()
        let world = try RouterWorld { _ in store }
        let router = world["phone"].router
        try await router.attach(to: world["phone"].connection)
        store.isFailing.withLock { $0 = true }
        await #expect(throws: StorageError.self) { try await router.set(7, for: StorageKey<Int>("volume")) }
        #expect(router.problems.map(\.code) == [.storeFailed])
        store.isFailing.withLock { $0 = false }
        #expect(try await world.run { router.problems.isEmpty })
    }

    @Test func `A view that read problems before the router was attached sees those of the connection`() async throws {
        let world = try RouterWorld()
        let router = world["phone"].router
        let hasChanged = Locked(false)
        withObservationTracking {
            _ = router.problems
        } onChange: {
            hasChanged.withLock { $0 = true }
        }
        try await router.attach(over: world.network.makeTransport(localPeer: world["phone"].peer))
        #expect(hasChanged.withLock { $0 })
        #expect(router.problems.isEmpty)
        await router.detach()
    }
}
