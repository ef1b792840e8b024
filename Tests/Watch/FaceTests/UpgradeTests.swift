import Foundation
import MeshBase
import SessionMeshWatchConnectivity
import Testing

@MainActor
@Suite("A state survives updates and rollbacks of either app")
struct UpgradeTests {
    @Test(arguments: [false, true])
    func `the last change survives an update of one app, then of the other`(remembers: Bool)
        async throws
    {
        for first in [Fleet.Side.phone, .watch] {
            let fleet = Fleet(remembers: remembers)
            try await fleet.begin()
            let second = first.other
            // Both have set the value. The first one to be updated set it last.
            try await fleet.set(2, on: second)
            try await fleet.set(5, on: first)
            try fleet.launchNew(first)
            await fleet.run(for: .seconds(20))
            #expect(fleet.value(first) == 5 && fleet.value(second) == 5, "\(first) first, one of two")
            try fleet.launchNew(second)
            await fleet.run(for: .seconds(60))
            #expect(fleet.value(first) == 5 && fleet.value(second) == 5, "\(first) first")
        }
    }

    @Test(arguments: [false, true])
    func `both apps updated at once agree, and report the values that they didn't keep`(remembers: Bool) async throws {
        let fleet = Fleet(remembers: remembers)
        try await fleet.begin()
        try await fleet.set(2, on: .watch)
        try await fleet.set(5, on: .phone)
        try fleet.launchNew(.phone)
        try fleet.launchNew(.watch)
        await fleet.run(for: .seconds(60))
        let values = [fleet.value(.phone), fleet.value(.watch)]
        #expect(values == [5, 5] || values == [2, 2])
        let conflicts = (fleet.states[.phone]?.conflicts ?? []) + (fleet.states[.watch]?.conflicts ?? [])
        #expect(conflicts.contains { $0.lost.json.map { String(decoding: $0, as: UTF8.self) } != nil })
    }

    @Test(arguments: [false, true])
    func `a state that only one app has set survives an update of either`(remembers: Bool) async throws {
        for (author, updated) in [
            (Fleet.Side.phone, Fleet.Side.phone), (.phone, .watch), (.watch, .phone), (.watch, .watch),
        ] {
            let fleet = Fleet(remembers: remembers)
            try await fleet.begin()
            try await fleet.set(5, on: author)
            try fleet.launchNew(updated)
            await fleet.run(for: .seconds(20))
            #expect(fleet.value(updated) == 5, "\(author) set it, \(updated) was updated")
            if author == updated { #expect(fleet.value(updated.other) == 5) }
            try fleet.launchNew(updated.other)
            await fleet.run(for: .seconds(60))
            #expect(fleet.value(.phone) == 5 && fleet.value(.watch) == 5, "\(author) set it, \(updated) first")
        }
    }

    @Test(arguments: [false, true])
    func `an updated app's later changes aren't undone by a relaunch`(remembers: Bool) async throws {
        let fleet = Fleet(remembers: remembers)
        try await fleet.begin()
        try await fleet.set(2, on: .watch)
        try fleet.launchNew(.phone)
        await fleet.run(for: .seconds(20))
        #expect(fleet.value(.phone) == 2)
        try await fleet.set(7, on: .phone)
        try fleet.launchNew(.phone)
        await fleet.run(for: .seconds(20))
        #expect(fleet.value(.phone) == 7 && fleet.value(.watch) == 7)
    }

    @Test(arguments: [false, true])
    func `an old app's changes while the updated one was away count as newer`(remembers: Bool) async throws {
        for isUpdatedThen in [false, true] {
            let fleet = Fleet(remembers: remembers)
            try await fleet.begin()
            try await fleet.set(2, on: .watch)
            try fleet.launchNew(.phone)
            await fleet.run(for: .seconds(20))
            try await fleet.set(7, on: .phone)
            fleet.kill(.phone)
            try await fleet.set(9, on: .watch)
            if isUpdatedThen { try fleet.launchNew(.watch) }
            await fleet.run(for: .seconds(20))
            try fleet.launchNew(.phone)
            await fleet.run(for: .seconds(60))
            #expect(fleet.value(.phone) == 9 && fleet.value(.watch) == 9, "updated: \(isUpdatedThen)")
        }
    }
}

@MainActor
@Suite("A store that is slow or fails reverts no state", .serialized)
struct StateStoreTests {
    private func fleet() async throws -> (Fleet, TroubledStore) {
        let store = TroubledStore()
        let fleet = Fleet(remembers: true)
        fleet.use(store, on: .phone)
        try await fleet.begin()
        try fleet.launchNew(.phone)
        await fleet.run(for: .seconds(20))
        return (fleet, store)
    }

    /// Regression: the phone wrote its initial value to the context before its state was read.
    @Test(arguments: [Fleet.Side.phone, .watch])
    func `an old counterpart never receives the initial value at a relaunch`(author: Fleet.Side) async throws {
        let (fleet, store) = try await fleet()
        try await fleet.set(5, on: author)
        #expect(fleet.value(.phone) == 5 && fleet.value(.watch) == 5)
        let before = fleet.old[.watch]?.seen.received["Counter"]?.count ?? 0
        store.isHeld = true
        try fleet.launchNew(.phone)
        await fleet.run(for: .seconds(2))
        store.isHeld = false
        await fleet.run { fleet.value(.phone) == 5 }
        await fleet.run(for: .seconds(20))
        let received = fleet.old[.watch]?.seen.received["Counter"]?.dropFirst(before) ?? []
        #expect(received.allSatisfy { $0 == #"{"count":5}"# }, "\(received)")
        #expect(fleet.value(.phone) == 5 && fleet.value(.watch) == 5)
    }

    @Test func `a counterpart's change while the state is being read is applied`() async throws {
        let (fleet, store) = try await fleet()
        try await fleet.set(5, on: .phone)
        store.isHeld = true
        try fleet.launchNew(.phone)
        await fleet.run(for: .seconds(2))
        try await fleet.set(6, on: .watch)
        store.isHeld = false
        await fleet.run { fleet.value(.phone) == 6 }
        await fleet.run(for: .seconds(20))
        #expect(fleet.value(.phone) == 6 && fleet.value(.watch) == 6)
    }

    /// Regression: the phone noted the watch's value as seen, although its store didn't have it.
    @Test func `a counterpart's change that couldn't be stored is kept through a relaunch`() async throws {
        let (fleet, store) = try await fleet()
        try await fleet.set(5, on: .watch)
        #expect(fleet.value(.phone) == 5)
        store.fails = true
        try await fleet.set(6, on: .watch)
        #expect(fleet.value(.phone) == 6)
        fleet.kill(.phone)
        store.fails = false
        try fleet.launchNew(.phone)
        await fleet.run(for: .seconds(60))
        #expect(fleet.value(.phone) == 6 && fleet.value(.watch) == 6)
        // Stored now, so the value counts as known.
        try await fleet.set(7, on: .phone)
        try fleet.launchNew(.phone)
        await fleet.run(for: .seconds(20))
        #expect(fleet.value(.phone) == 7 && fleet.value(.watch) == 7)
    }
}

/// A store whose shared states can be read only while it isn't held, and that neither reads nor writes while it fails.
private final class TroubledStore: SessionStore {
    private let base = MemoryStore()
    private let state = Locked((isHeld: false, fails: false))

    var isHeld: Bool {
        get { state.withLock { $0.isHeld } }
        set { state.withLock { $0.isHeld = newValue } }
    }
    var fails: Bool {
        get { state.withLock { $0.fails } }
        set { state.withLock { $0.fails = newValue } }
    }

    private func check() throws { if fails { throw StorageError(.unavailable, "not now") } }

    var durability: StoreDurability { base.durability }
    func commit(_ batch: StoreBatch) throws {
        try check()
        try base.commit(batch)
    }
    func value(for key: String) throws -> [UInt8]? {
        // Bounded: with one thread for all tasks, the test itself can't go on meanwhile.
        for _ in 0..<2000 where isHeld && key.hasPrefix("sessionmesh.state") { Thread.sleep(forTimeInterval: 0.001) }
        try check()
        return try base.value(for: key)
    }
    func catalog(prefix: String) throws -> StoreCatalog {
        try check()
        return try base.catalog(prefix: prefix)
    }
    func entries(of journal: String, from position: UInt64, maxBytes: Int) throws -> [StoreEntry] {
        try check()
        return try base.entries(of: journal, from: position, maxBytes: maxBytes)
    }
    func close() {}
}

@MainActor
@Suite("An app rollback is detected")
struct RollbackTests {
    @Test(arguments: [false, true], [false, true])
    func `requests and states reach a counterpart that was rolled back`(remembers: Bool, isRelaunched: Bool)
        async throws
    {
        let fleet = Fleet(remembers: remembers)
        try fleet.launchNew(.phone)
        try fleet.launchNew(.watch)
        await fleet.run { fleet.connections[.phone]?.requests.isReachable() == true }
        try await fleet.set(3, on: .phone)
        let first = try #require(fleet.connections[.phone])
        #expect(try await fleet.finish { try await first.send(Add(left: 20, right: 3)) } == 23)
        #expect(!first.counterpartIsOld && fleet.value(.watch) == 3)

        try fleet.launchOld(.watch)
        fleet.old[.watch]?.answers.withLock { $0["Add"] = "5" }
        if isRelaunched { try fleet.launchNew(.phone) }
        let phone = try #require(fleet.connections[.phone])
        // The app probes an idle connection every 310 seconds.
        await fleet.run(within: .seconds(340)) { phone.counterpartIsOld }
        #expect(try await fleet.finish { try await phone.send(Add(left: 2, right: 3)) } == 5)
        try await fleet.set(4, on: .phone)
        #expect(fleet.value(.watch) == 4)
        try await fleet.set(6, on: .watch)
        #expect(fleet.value(.phone) == 6)
        #expect(phone.counterpartIsOld)

        try fleet.launchNew(.watch)
        await fleet.run { !phone.counterpartIsOld }
        #expect(try await fleet.finish { try await phone.send(Add(left: 20, right: 3)) } == 23)
        await fleet.run(for: .seconds(20))
        #expect(fleet.value(.phone) == 6 && fleet.value(.watch) == 6)
    }

    @Test func `a request made before the rollback was noticed is answered`() async throws {
        let fleet = Fleet(remembers: true)
        try fleet.launchNew(.phone)
        try fleet.launchNew(.watch)
        await fleet.run { fleet.connections[.phone]?.requests.isReachable() == true }
        try fleet.launchOld(.watch)
        fleet.old[.watch]?.answers.withLock { $0["Add"] = "5" }
        try fleet.launchNew(.phone)
        let phone = try #require(fleet.connections[.phone])
        #expect(try await fleet.finish { try await phone.send(Add(left: 2, right: 3)) } == 5)
    }
}

/// A phone and a watch of one user, whose apps are updated and rolled back.
@MainActor
final class Fleet: PairBench {
    enum Side {
        case phone, watch
        var other: Side { self == .phone ? .watch : .phone }
    }

    let pair: SimulatedWatchPair
    private(set) var old: [Side: OldApp] = [:]
    private(set) var connections: [Side: WatchConnection] = [:]
    private(set) var states: [Side: SharedState<Counter>] = [:]
    private var stores: [Side: any SessionStore]?
    private let folders = try? TemporaryFolder()

    init(seed: UInt64 = 1, remembers: Bool) {
        pair = SimulatedWatchPair(seed: seed, conditions: .calm)
        stores = remembers ? [.phone: MemoryStore(), .watch: MemoryStore()] : nil
    }

    private func device(_ side: Side) -> SimulatedDevice { side == .phone ? pair.phone : pair.watch }

    func use(_ store: any SessionStore, on side: Side) { stores?[side] = store }

    /// Launches both apps with WatchConnectivitySwift 5.
    func begin() async throws {
        for side in [Side.phone, .watch] { try launchOld(side) }
        await run(for: .seconds(2))
    }

    func kill(_ side: Side) {
        connections[side]?.abandon()
        (connections[side], states[side], old[side]) = (nil, nil, nil)
        device(side).kill()
    }

    func launchOld(_ side: Side) throws {
        kill(side)
        guard let session = device(side).relaunch() else { throw NotLaunched() }
        old[side] = OldApp(session)
    }

    func launchNew(_ side: Side) throws {
        kill(side)
        guard let session = device(side).relaunch() else { throw NotLaunched() }
        let configuration = WatchConnection.Configuration(
            localPeer: side == .phone ? here : there, store: stores?[side].map { .custom($0) } ?? .memory,
            folder: folders?.url.appendingPathComponent("\(side)"), clock: pair.clock)
        let connection = device(side).run { WatchConnection(session: session, configuration: configuration) }
        connection.register(Add.self) { $0.left + $0.right }
        connections[side] = connection
        states[side] = SharedState(initialValue: Counter(), connection: connection)
    }

    func set(_ count: Int, on side: Side) async throws {
        if let state = states[side] { try state.update(Counter(count: count)) }
        try old[side]?.set(#"{"count":\#(count)}"#, for: "Counter")
        old[side]?.isSetHere("Counter")
        await run(for: .seconds(5))
    }

    /// The value that the app shows.
    func value(_ side: Side) -> Int? {
        if let state = states[side] { return state.value.count }
        guard let app = old[side] else { return nil }
        let bytes = app.shown("Counter")
        return bytes.flatMap { try? JSONDecoder().decode(Counter.self, from: $0).count }
    }
}
