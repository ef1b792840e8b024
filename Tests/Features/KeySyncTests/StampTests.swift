import Foundation
import MeshBase
import MeshConnection
import MeshIdentity
import MeshRegister
import MeshScenarioTransport
import MeshStorage
import MeshTransport
import MeshWire
import Testing

@testable import MeshKeySync

/// The stamps of received values and the clock of the connection.
@MainActor @Suite struct StampTests {
    let picture = StorageKey<Data>("picture")
    /// The highest stamp that a message may have. No honest clock gets near it.
    let extreme = HybridTimestamp(rawValue: 3 << 61 - 1)

    /// Regression: the clock followed the stamps of items but not those of pieces, so a later change lost silently.
    @Test func `A change made after a large value arrived replaces it, whatever the peer's clock shows`() async throws {
        let world = try RouterWorld()
        let (phone, watch) = (world["phone"], world["watch"])
        world.network.setClockOffset(.seconds(60), of: phone.peer)
        for device in world.devices {
            await device.router.configure(SyncConfiguration(maxAutoSyncSize: 1 << 20))
            await device.router.register(picture)
        }
        try await world.attachAll()
        try await phone.router.set(Data(repeating: 7, count: 200_000), for: picture)
        #expect(try await world.run { try await watch.router.get(picture)?.count == 200_000 })
        try await watch.router.set(Data([1]), for: picture)
        #expect(try await world.run { try await phone.router.get(picture) == Data([1]) })
        #expect(try await watch.router.get(picture) == Data([1]))
    }

    @Test func `A large value with a stamp that the clock can't follow is refused`() async throws {
        let world = try RouterWorld()
        let (phone, watch) = (world["phone"], world["watch"])
        #expect(extreme.isPlausible && !extreme.successor.isPlausible)
        try await watch.router.attach(to: watch.connection)
        try await world.run { phone.connection.transport.knownPeers.contains(watch.peer) }
        var message = KeyMessage(nonce: 1)
        let (version, bytes) = (StateVersion(stamp: extreme, author: "phone#1"), KeyValue(bytes: Data([3])).data)
        message.piece = .init(
            name: .init(key: "picture", version: version), offset: 0, total: bytes.count, bytes: bytes)
        let metadata = SessionSyncMetadata(
            sessionID: phone.connection.sessionID, featureID: KeyMessage.featureID, sourcePeerID: "phone", sequence: 0,
            causalTimestamp: phone.connection.clock.wall, payloadType: KeyMessage.payloadType)
        let envelope = try AnySessionSyncEnvelope(SessionSyncEnvelope(metadata: metadata, payload: message))
        try await phone.connection.transport.send(envelope, mode: .reliableEventually, to: watch.peer)
        try await world.run(for: .seconds(5))
        #expect(try await watch.router.get(picture) == nil)
        watch.relaunch()
        try await watch.router.attach(to: watch.connection)
        #expect(watch.connection.stamp().isPlausible)
        // The watch still takes stamps that its clock can follow.
        try await phone.router.attach(to: phone.connection)
        try await phone.router.set(Data([4]), for: picture)
        #expect(try await world.run { try await watch.router.get(picture) == Data([4]) })
    }

    /// An earlier version stored large values without checking their stamps.
    @Test func `A stored value with a stamp that no clock reaches is unreadable, and the next change replaces it`()
        async throws
    {
        let world = try RouterWorld()
        let watch = world["watch"]
        var batch = StoreBatch()
        var writer = WireWriter()
        let entry = StateEntry(
            version: StateVersion(stamp: extreme, author: "phone#1"), bytes: KeyValue(bytes: Data([1])).data)
        batch.set(entry.stored(by: &writer), for: StorageRouter.storeKey(of: "picture"))
        try watch.store.commit(batch)
        try await world.attachAll()
        guard case .failed = await watch.router.status(of: "picture") else {
            Issue.record("the stored value isn't reported")
            return
        }
        #expect(watch.connection.stamp().isPlausible)
        try await watch.router.set(Data([2]), for: picture)
        #expect(try await world.run { try await world["phone"].router.get(picture) == Data([2]) })
        watch.relaunch()
        try await watch.router.attach(to: watch.connection)
        #expect(try await watch.router.get(picture) == Data([2]))
    }
}
