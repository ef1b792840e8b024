import Foundation
import MeshBase
import MeshBrokenRules
import MeshConnection
import MeshIdentity
import MeshScenarioTransport
import MeshStorage
import MeshTestSupport
import MeshTransport
import MeshWire
import Observation
import Testing

@testable import MeshKeySync

#if SQLite
    import MeshSQLiteStorage
#endif

@MainActor @Suite struct RouterTests {
    let volume = StorageKey<Int>("volume")
    let title = StorageKey<String>("title", codec: JSONCodec())

    @Test func `L1 L9 a change on either device is the value on the other, whichever attaches first`() async throws {
        for order in [["phone", "watch"], ["watch", "phone"]] {
            let world = try RouterWorld()
            try await world[order[0]].router.attach(to: world[order[0]].connection)
            try await world[order[0]].router.set(7, for: volume)
            try await world.run(for: .seconds(3))
            try await world[order[1]].router.attach(to: world[order[1]].connection)
            try await world[order[1]].router.set("song", for: title)
            #expect(try await world.run { try await world[order[1]].router.get(volume) == 7 })
            #expect(try await world.run { try await world[order[0]].router.get(title) == "song" })
            #expect(try await world.run { await world[order[0]].router.status(of: "volume") == .synced })
            try await world[order[1]].router.remove(volume)
            #expect(try await world.run { try await world[order[0]].router.get(volume) == nil })
        }
    }

    @Test func `Own and received values survive a relaunch, and changes made meanwhile arrive`() async throws {
        let world = try RouterWorld()
        try await world.attachAll()
        try await world["phone"].router.set(7, for: volume)
        #expect(try await world.run { try await world["watch"].router.get(volume) == 7 })
        world["watch"].relaunch()
        try await world["watch"].router.attach(to: world["watch"].connection)
        #expect(try await world["watch"].router.get(volume) == 7)
        world["watch"].relaunch()
        try await world["phone"].router.set(8, for: volume)
        try await world.run(for: .seconds(5))
        try await world["watch"].router.attach(to: world["watch"].connection)
        #expect(try await world.run { try await world["watch"].router.get(volume) == 8 })
    }

    #if SQLite
        @Test func `Keys in SQLite are restored at the next launch`() async throws {
            let folder = FileManager.default.temporaryDirectory.appending(path: "keys-\(UUID())")
            try FileManager.default.createDirectory(
                at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
            defer { try? FileManager.default.removeItem(at: folder) }
            func path(_ id: String) -> String { folder.appending(path: "\(id).sqlite").path(percentEncoded: false) }
            let world = try RouterWorld { try SQLiteStore(path: path($0)) }
            try await world.attachAll()
            try await world["phone"].router.set(7, for: volume)
            try await world["phone"].router.set("song", for: title)
            #expect(try await world.run { try await world["watch"].router.get(title) == "song" })
            world["watch"].store.close()
            world["watch"].relaunch(with: try SQLiteStore(path: path("watch")))
            try await world["watch"].router.attach(to: world["watch"].connection)
            #expect(try await world["watch"].router.get(volume) == 7)
            for device in world.devices { device.store.close() }
        }
    #endif

    @Test func `After a relaunch, a peer's confirmations are known before the peer is back`() async throws {
        let world = try RouterWorld()
        try await world.attachAll()
        try await world["phone"].router.set(7, for: volume)
        try await world["phone"].router.set("song", for: title)
        try await world["phone"].router.remove(title)
        #expect(try await world.run { await world["phone"].router.status(of: "title") == .synced })
        try await world.run(for: .seconds(10))
        world.cut()
        world["phone"].relaunch()
        await world["phone"].router.register(volume)
        try await world["phone"].router.attach(to: world["phone"].connection)
        for name in ["volume", "title"] { #expect(await world["phone"].router.status(of: name) == .synced) }
        try await world["phone"].router.set(8, for: volume)
        #expect(await world["phone"].router.status(of: "volume") == .pending)
        try await world["phone"].router.forget(peerID: "watch")
        world["phone"].relaunch()
        try await world["phone"].router.attach(to: world["phone"].connection)
        #expect(await world["phone"].router.status(of: "title") == .pending)
    }

    @Test func `L6 a partly received large value continues after both apps relaunch`() async throws {
        let picture = StorageKey<Data>("picture", syncPolicy: .manual)
        let world = try RouterWorld()
        try await world.attachAll()
        try await world["phone"].router.set(Data(repeating: 7, count: 600_000), for: picture)
        await world["phone"].router.sync(picture)
        func pieces() throws -> UInt64 {
            let catalog = try world["watch"].store.catalog(prefix: "sessionmesh.keys/pieces/")
            return catalog.journals.first.map { $0.positions.upperBound - $0.positions.lowerBound } ?? 0
        }
        #expect(try await world.run { try pieces() > 5 })
        let had = try pieces()
        for id in ["watch", "phone"] { world[id].relaunch() }
        for id in ["watch", "phone"] {
            await world[id].router.register(picture)
            try await world[id].router.attach(to: world[id].connection)
        }
        #expect(try pieces() == had)
        #expect(try await world.run(for: .seconds(300)) { try pieces() > had })
        #expect(try await world.run(for: .seconds(300)) { try await world["watch"].router.get(picture) != nil })
        #expect(try pieces() == 0)
    }

    @Test func `Damaged records of peers and pieces are tolerated`() async throws {
        let world = try RouterWorld()
        let watch = world["watch"]
        var batch = StoreBatch()
        batch.set([1, 2, 3], for: "sessionmesh.keys/peer/0")
        batch.set([1, 2, 3], for: "sessionmesh.keys/peer/99999999999999999999")
        batch.append([4], to: "sessionmesh.keys/pieces/0", at: 7)
        try watch.store.commit(batch)
        try await world.attachAll()
        let picture = StorageKey<Data>("picture", syncPolicy: .manual)
        try await world["phone"].router.set(Data(repeating: 7, count: 200_000), for: picture)
        await world["phone"].router.sync(picture)
        #expect(try await world.run(for: .seconds(300)) { try await watch.router.get(picture)?.count == 200_000 })
    }

    @Test func `A batch with a change that is too large stores and sends the changes before it`() async throws {
        let world = try RouterWorld()
        try await world.attachAll()
        let (phone, watch) = (world["phone"], world["watch"])
        var changes = KeyBatch()
        try changes.set(7, for: volume)
        try changes.set(Data(count: KeyLimits.valueBytesMax + 1), for: StorageKey<Data>("picture"))
        try changes.set("song", for: title)
        let batch = changes
        let error = await #expect(throws: KeySyncError.self) { try await phone.router.commit(batch) }
        guard case .tooLarge(key: "picture", _)? = error?.code else {
            Issue.record("\(error as Any)")
            return
        }
        #expect(try phone.store.value(for: StorageRouter.storeKey(of: "volume")) != nil)
        #expect(try await phone.router.get(title) == nil)
        #expect(try await world.run(for: .seconds(5)) { try await watch.router.get(volume) == 7 })
        #expect(try await watch.router.get(title) == nil)
    }

    @Test func `A value that is too large is refused before attach, and the others are attached`() async throws {
        let world = try RouterWorld()
        let (phone, watch) = (world["phone"], world["watch"])
        let picture = StorageKey<Data>("picture")
        let error = await #expect(throws: KeySyncError.self) {
            try await phone.router.set(Data(count: KeyLimits.valueBytesMax + 1), for: picture)
        }
        guard case .tooLarge(key: "picture", _)? = error?.code else {
            Issue.record("\(error as Any)")
            return
        }
        try await phone.router.set(7, for: volume)
        try await world.attachAll()
        #expect(try await world.run { try await watch.router.get(volume) == 7 })
        #expect(try await phone.router.get(picture) == nil)
    }

    @Test func `A value that doesn't fit next to the stored ones doesn't prevent the attach`() async throws {
        let world = try RouterWorld()
        let phone = world["phone"]
        func old(_ number: Int) -> StorageKey<Data> { StorageKey("old\(number)", syncPolicy: .never) }
        for number in 0..<67 { try await phone.router.set(Data(count: 1_000_000), for: old(number)) }
        try await world.attachAll()
        await phone.router.detach()
        let picture = StorageKey<Data>("picture", syncPolicy: .never)
        try await phone.router.set(Data(count: 1_000_000), for: picture)
        try await phone.router.set(7, for: volume)
        phone.reconnect()
        try await phone.router.attach(to: phone.connection)
        let status = await phone.router.status(of: "picture")
        guard case .failed? = status else {
            Issue.record("\(status as Any)")
            return
        }
        #expect(phone.router.problems.map(\.code) == [.writeFailed])
        #expect(try await phone.router.get(picture) == nil)
        #expect(try await world.run { try await world["watch"].router.get(volume) == 7 })
        try await phone.router.remove(old(0))
        try await phone.router.set(Data(count: 1_000_000), for: picture)
        #expect(try await phone.router.get(picture)?.count == 1_000_000 && phone.router.problems.isEmpty)
    }

    @Test func `After detach nothing is sent; values set meanwhile are sent once attached again`() async throws {
        let world = try RouterWorld()
        try await world.attachAll()
        try await world["phone"].router.set(7, for: volume)
        #expect(try await world.run { try await world["watch"].router.get(volume) == 7 })
        await world["phone"].router.detach()
        try await world["phone"].router.set(8, for: volume)
        try await world.run(for: .seconds(10))
        #expect(try await world["watch"].router.get(volume) == 7)
        #expect(try await world["phone"].router.get(volume) == 8)
        world["phone"].reconnect()
        try await world["phone"].router.attach(to: world["phone"].connection)
        #expect(try await world.run { try await world["watch"].router.get(volume) == 8 })
    }

    @Test func `A change that the store rejected is written and sent once the store accepts it`() async throws {
        let store = FailingStore()
        let world = try RouterWorld { $0 == "phone" ? store : MemoryStore() as any SessionStore }
        try await world.attachAll()
        try await world.run(for: .seconds(10))
        store.isFailing.withLock { $0 = true }
        await #expect(throws: StorageError.self) { try await world["phone"].router.set(7, for: volume) }
        try await world.run(for: .seconds(20))
        #expect(try await world["watch"].router.get(volume) == nil)
        store.isFailing.withLock { $0 = false }
        #expect(try await world.run { try await world["watch"].router.get(volume) == 7 })
        world["phone"].relaunch()
        try await world["phone"].router.attach(to: world["phone"].connection)
        #expect(try await world["phone"].router.get(volume) == 7)
    }

    @Test func `A received value that the store rejected is shown once the store has written it`() async throws {
        let store = FailingStore()
        let world = try RouterWorld { $0 == "watch" ? store : MemoryStore() as any SessionStore }
        try await world.attachAll()
        try await world.run(for: .seconds(10))
        let (router, shown) = (world["watch"].router, Locked<Int?>(nil))
        let values = await router.values(of: volume)
        let reader = Task { for await value in values { shown.withLock { $0 = value } } }
        defer { reader.cancel() }
        store.isFailing.withLock { $0 = true }
        try await world["phone"].router.set(7, for: volume)
        #expect(try await world.run { try await router.get(volume) == 7 })
        #expect(shown.withLock { $0 } == nil)
        store.isFailing.withLock { $0 = false }
        // Another change writes the value too.
        try await router.set("evening", for: title)
        #expect(try await world.run { shown.withLock { $0 } == 7 })
    }

    /// Regression: nothing planned the write, so the value was shown only after the peer's next message.
    @Test func `A received value that the store rejected once is shown without another message or change`() async throws
    {
        let store = FailingStore()
        let world = try RouterWorld { $0 == "watch" ? store : MemoryStore() as any SessionStore }
        try await world.attachAll()
        try await world.run(for: .seconds(10))
        let (router, shown) = (world["watch"].router, Locked<Int?>(nil))
        let values = await router.values(of: volume)
        let reader = Task { for await value in values { shown.withLock { $0 = value } } }
        defer { reader.cancel() }
        store.isFailing.withLock { $0 = true }
        try await world["phone"].router.set(7, for: volume)
        #expect(try await world.run { try await router.get(volume) == 7 })
        // The phone stays in reach but sends nothing more.
        await world["phone"].router.detach()
        store.isFailing.withLock { $0 = false }
        #expect(try await world.run(for: .seconds(10)) { shown.withLock { $0 } == 7 })
        #expect(try store.value(for: StorageRouter.storeKey(of: "volume")) != nil)
    }

    /// Regression: a watch that is off for days stays in reach, because the platform keeps messages for it. The router repeated
    /// the keys every 5 minutes, and the platform kept every repetition.
    @Test func `A message waiting in the transport isn't repeated, and a lost one is`() async throws {
        let count = try await countSends()
        #expect(count.whileWaiting <= 2)
        #expect(count.afterwards >= 2)
    }

    @Test(.breaksRules) func `Without the rule, a message waiting in the transport is repeated every 5 minutes`()
        async throws
    {
        let count = try await breaking(KeyMutation.repeatsUndelivered) { try await countSends() }
        #expect(count.whileWaiting > 12)
    }

    /// The number of sends in an hour while the transport has everything, and in the 10 minutes after it lost everything.
    private func countSends() async throws -> (whileWaiting: Int, afterwards: Int) {
        let world = try RouterWorld()
        let (phone, router) = (world["phone"], StorageRouter())
        try await world.run { !phone.connection.transport.knownPeers.isEmpty }
        let transport = WaitingTransport(wrapped: phone.connection.transport)
        let clock = world.network.clock(of: phone.peer)
        try await router.attach(to: TransportConnection(transport: transport, store: MemoryStore(), clock: clock))
        try await router.set(7, for: volume)
        try await world.run(for: .seconds(3600))
        let count = transport.sent.withLock { $0.count }
        transport.sent.withLock { $0 = [] }
        try await world.run(for: .seconds(600))
        return (count, transport.sent.withLock { $0.count })
    }

    @Test func `A second router on one connection is rejected, and one on another connection is separate`() async throws
    {
        let world = try RouterWorld(["phone", "watch", "tablet"])
        try await world.attachAll()
        let second = StorageRouter()
        await #expect(throws: ConnectionError.self) { try await second.attach(to: world["phone"].connection) }
        await #expect(throws: KeySyncError.self) {
            try await world["phone"].router.attach(to: world["watch"].connection)
        }
        try await second.set(3, for: volume)
        #expect(try await world["phone"].router.get(volume) == nil)
        try await world["tablet"].router.set(9, for: volume)
        #expect(try await world.run { try await world["phone"].router.get(volume) == 9 })
        #expect(try await second.get(volume) == 3)
    }

    @Test func `L11 a secured key is sent only over a secured link`() async throws {
        let secret = StorageKey<String>("secret", isSecured: true, sharesSecured: true)
        for isSecured in [true, false] {
            let world = try RouterWorld(isSecured: isSecured)
            for device in world.devices { await device.router.register(secret) }
            try await world.attachAll()
            try await world["phone"].router.set("s", for: secret)
            try await world["phone"].router.set(1, for: volume)
            #expect(try await world.run { try await world["watch"].router.get(volume) == 1 })
            await world["phone"].router.sync(secret, overridingPolicy: true)
            try await world.run(for: .seconds(3))
            #expect(try await world["watch"].router.get(secret) == (isSecured ? "s" : nil))
        }
    }

    @Test func `L7 a value that one version can't read is reported by key, kept, and passed to a version that can`()
        async throws
    {
        let world = try RouterWorld()
        try await world.attachAll()
        try await world["phone"].router.set("new", for: StorageKey<String>("format", schema: 2))
        try await world["phone"].router.set("text", for: StorageKey<String>("type"))
        try await world["phone"].router.set(1, for: volume)
        let watch = world["watch"]
        #expect(try await world.run { try await watch.router.get(volume) == 1 })
        await #expect(throws: KeySyncError.self) { try await watch.router.get(StorageKey<String>("format")) }
        await #expect(throws: KeySyncError.self) { try await watch.router.get(StorageKey<Int>("type")) }
        for name in ["format", "type"] {
            let status = await watch.router.status(of: name)
            guard case .failed = status else {
                Issue.record("\(name): \(String(describing: status))")
                continue
            }
        }
        watch.relaunch()
        try await watch.router.attach(to: watch.connection)
        #expect(try await watch.router.get(StorageKey<String>("format", schema: 2)) == "new")
        #expect(try await watch.router.get(StorageKey<String>("type")) == "text")
    }

    @Test func `A damaged entry in the store is reported by its key, and restored by the peer`() async throws {
        let world = try RouterWorld()
        let watch = world["watch"]
        var batch = StoreBatch()
        batch.set([1, 2, 3], for: StorageRouter.storeKey(of: volume.name))
        try watch.store.commit(batch)
        try await watch.router.attach(to: watch.connection)
        guard case .failed = await watch.router.status(of: "volume") else {
            Issue.record("a damaged entry isn't reported")
            return
        }
        #expect(try watch.store.value(for: StorageRouter.storeKey(of: volume.name)) == [1, 2, 3])
        try await world["phone"].router.set(7, for: volume)
        try await world["phone"].router.attach(to: world["phone"].connection)
        #expect(try await world.run { try await watch.router.get(volume) == 7 })
        #expect(try await world.run { await watch.router.status(of: "volume") == .synced })
    }

    // MARK: - Observation

    @Test func `A peer's change is seen once, and keys that arrive together in one turn`() async throws {
        let world = try RouterWorld()
        try await world.attachAll()
        let router = world["watch"].router
        let model = Model(router)
        #expect(model.volume == 5 && model.title == "none")
        try await world.run(for: .seconds(2))
        let seen = Locked<[String]>([])
        let looking = look(at: model) { text in seen.withLock { $0.append(text) } }
        var changes = KeyBatch()
        try changes.set(7, for: volume)
        try changes.set("song", for: title)
        try await world["phone"].router.commit(changes)
        #expect(try await world.run { model.volume == 7 && model.title == "song" })
        try await world.run(for: .seconds(5))
        looking.withLock { $0 = false }
        #expect(seen.withLock { $0 } == ["7 song"])
        #expect(model.error == nil)
    }

    @Test func `A view model's change shows at once, and its last change soon on the peer`() async throws {
        let world = try RouterWorld()
        try await world.attachAll()
        let (here, there) = (Model(world["phone"].router), Model(world["watch"].router))
        for number in 1...50 {
            here.volume = number
            #expect(here.volume == number)
        }
        #expect(try await world.run { there.volume == 50 })
        #expect(try await world["watch"].router.get(volume) == 50)
        there.title = "song"
        #expect(try await world.run { here.title == "song" })
    }

    @Test func `A value of another type leaves the shown value, with an error`() async throws {
        let world = try RouterWorld()
        try await world.attachAll()
        let model = Model(world["watch"].router)
        try await world["phone"].router.set("loud", for: StorageKey<String>("volume"))
        #expect(try await world.run { model.error is KeySyncError })
        #expect(model.volume == 5)
        model.volume = 6
        #expect(try await world.run { await world["watch"].router.status(of: "volume") == .synced })
        #expect(model.error == nil)
    }

    @Test func `A key's stream starts with the current value`() async throws {
        let router = StorageRouter()
        try await router.set(1, for: volume)
        var values = await router.values(of: volume).makeAsyncIterator()
        #expect(await values.next() == .some(1))
        try await router.set(2, for: volume)
        #expect(await values.next() == .some(2))
        try await router.remove(volume)
        #expect(await values.next() == .some(nil))
    }

    /// Reports the view's content each time that it would be redrawn.
    private func look(at model: Model, _ tell: @escaping @Sendable (String) -> Void) -> Locked<Bool> {
        let isLooking = Locked(true)
        Self.track(model, isLooking, tell)
        return isLooking
    }

    private static func track(_ model: Model, _ isLooking: Locked<Bool>, _ tell: @escaping @Sendable (String) -> Void) {
        withObservationTracking {
            _ = "\(model.volume) \(model.title)"
        } onChange: {
            Task { @MainActor in
                guard isLooking.withLock({ $0 }) else { return }
                tell("\(model.volume) \(model.title)")
                track(model, isLooking, tell)
            }
        }
    }
}

@MainActor @Observable
private final class Model {
    @ObservationIgnored @Stored<Int> var volume: Int
    @ObservationIgnored @Stored<String> var title: String
    var error: (any Error)? { _volume.stored.error }

    init(_ router: StorageRouter) {
        _volume = Stored(wrappedValue: 5, StorageKey<Int>("volume"), router: router)
        _title = Stored(wrappedValue: "none", StorageKey<String>("title", codec: JSONCodec()), router: router)
    }
}

/// Delivers nothing, and reports each envelope as waiting until `sent` is emptied.
private struct WaitingTransport: TransportWrapper {
    let wrapped: any SessionSyncTransport
    let sent = Locked<Set<UUID>>([])

    func send(_ envelope: AnySessionSyncEnvelope, mode: SessionDeliveryMode, to peer: SessionPeer?) async throws {
        sent.withLock { _ = $0.insert(envelope.metadata.eventID) }
    }
    func send(
        _ envelopes: [AnySessionSyncEnvelope], mode: SessionDeliveryMode, to peer: SessionPeer?,
        isolation: isolated (any Actor)?
    ) async throws {
        for envelope in envelopes { try await send(envelope, mode: mode, to: peer) }
    }
    func isWaiting(eventID: UUID, featureID: String) -> Bool { sent.withLock { $0.contains(eventID) } }
}
