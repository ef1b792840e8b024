import Foundation
import MeshEngine
import MeshIdentity
import MeshScenarioTransport
import MeshSession
import MeshStorage
import MeshTestSupport
import MeshTransport
import Testing

/// The reader of a widget shows what the app showed, from its store alone.
@MainActor @Suite struct ReaderTests {
    struct Feature: SessionFeature {
        static let featureID = "counter"
        typealias State = Counter
        typealias Event = Tap
        let initialState = Counter()

        func reduce(state: inout Counter, event: Tap, context: SessionEventContext) {
            CounterReducer().reduce(state: &state, event: event, context: context)
        }
    }

    private func read(_ store: any SessionStore, _ target: SessionReader<Feature>.Target = .id(sessionID)) throws
        -> SessionReading<Counter>
    {
        try SessionReader(Feature(), target, in: store).read()
    }

    private func code(of body: () throws -> Void) throws -> StorageError.Code? {
        do { try body() } catch let error as StorageError { return error.code }
        return nil
    }

    @Test(arguments: 0..<6 as Range<UInt64>)
    func `A reader shows the state that each device showed, confirmed or not`(seed: UInt64) async throws {
        let world = VirtualWorld(seed: seed, conditions: .rough)
        let stores = [MemoryStore(), MemoryStore()]
        let sessions = [
            try await world.opened(world.transport(phone), incarnation: 1, store: stores[0]),
            try await world.opened(world.transport(watch), incarnation: 2, store: stores[1]),
        ]
        for session in sessions { session.start() }
        await world.settle(until: { sessions.allSatisfy(\.isMember) })
        var last = world.now
        for number in 1...20 {
            for session in sessions {
                last = world.now
                try session.submit(.add(number), at: last)
            }
            await world.run(.milliseconds(number % 4 == 0 ? 3_000 : 30))
        }
        // Alone, so that the last tap stays unconfirmed.
        sessions[1].stop()
        last = world.now
        try sessions[0].submit(.add(1_000), at: last)
        await world.run(.seconds(1))
        for (session, store) in zip(sessions, stores) {
            let reading = try read(store)
            #expect(reading.state == session.state && reading.sessionID == sessionID && !reading.hasEnded)
        }
        #expect(sessions[0].state.amounts.last == 1_000 && sessions[0].confirmedCount < 41)
        let reading = try read(stores[0])
        #expect(reading.changedAt == last)
        #expect(reading.age(at: last + 30) == 30 && reading.age(at: last - 30) == 0)
    }

    @Test func `Once all events are confirmed and folded, the time of the last one is still known`() async throws {
        let world = VirtualWorld(seed: 7)
        let store = MemoryStore()
        let here = try await world.opened(world.transport(phone), incarnation: 1, store: store)
        let there = world.session(world.transport(watch), incarnation: 2)
        for session in [here, there] { session.start() }
        await world.settle(until: { here.isMember && there.isMember })
        #expect(try read(store).changedAt == nil && read(store).age() == nil)
        var last = world.now
        for number in 1...600 {
            last = world.now
            try there.submit(.add(number), at: last)
            if number.isMultiple(of: 50) { await world.run(.seconds(1)) }
        }
        await world.settle(until: { here.confirmedCount == 600 })
        await world.settle()
        let reading = try read(store)
        #expect(reading.state == here.state && reading.state.amounts.count == 600)
        #expect(reading.changedAt.map { abs($0.timeIntervalSince(last)) < 0.001 } ?? false)
    }

    @Test func `Without the app's session there is an error, not an initial state`() async throws {
        let store = MemoryStore()
        #expect(try code { _ = try read(store) } == .missing)
        #expect(try code { _ = try read(store, .lobby) } == .missing)
        let world = VirtualWorld(seed: 1)
        let session = try await world.opened(world.transport(phone), store: store)
        session.start()
        try session.submit(.add(3), at: world.now)
        await world.run(.seconds(1))
        #expect(try read(store).state.total == 3)
        #expect(try code { _ = try read(store, .shared) } == .missing)
        #expect(try code { _ = try read(store, .id(UUID())) } == .missing)
        // A store that was closed, as a snapshot is.
        store.close()
        #expect(try code { _ = try read(store) } == .closed)
    }

    @Test func `The shared session and the lobby's session are found without their IDs`() async throws {
        let world = VirtualWorld(seed: 2)
        let shared = MemoryStore()
        var configuration = SyncedSessionConfiguration<Counter, Tap>()
        world.adapt(&configuration, incarnation: 1)
        let session = SharedSession(
            Feature(), over: world.transport(phone), store: shared, configuration: configuration)
        session.send(.add(4))
        await world.settle(until: { (try? read(shared, .shared).state.total) == 4 })
        #expect(session.state.total == 4)

        let store = MemoryStore()
        let transport = world.transport(watch)
        let lobby = SessionLobby<Counter, Tap, Feature, Feature>(
            featureID: "counter", name: "Watch", over: transport, store: store,
            configuration: world.configuration(incarnation: 2)
        ) { sessionID, configure in
            var configuration = world.configuration(incarnation: 2)
            configure(&configuration)
            return try await SessionOf<Feature>.open(
                Feature(), sessionID: sessionID, over: transport, store: store, configuration: configuration)
        }
        await lobby.start()
        #expect(try code { _ = try read(store, .lobby) } == .missing)
        for number in 1...2 {
            await lobby.open()
            try lobby.session?.submit(.add(number), at: world.now)
            await world.settle(until: { (try? read(store, .lobby).state.total) == number })
            #expect(try read(store, .lobby).sessionID == lobby.session?.sessionID)
        }
        var batch = StoreBatch()
        batch.set([1, 2, 3], for: "counter/invitation")
        try store.commit(batch)
        #expect(try code { _ = try read(store, .lobby) } == .damaged)
    }

    @Test func `An ended session says so, and an erased one throws`() async throws {
        let world = VirtualWorld(seed: 3)
        let store = MemoryStore()
        let session = try await world.opened(world.transport(phone), store: store)
        session.start()
        let closing = Task { try await session.close(with: .end, at: world.now) }
        await world.settle(until: { session.phase == .closed })
        try await closing.value
        #expect(try read(store).hasEnded && read(store).state.isOver)
        var archive = try CounterArchive(store: store, sessionID: sessionID, featureID: "counter")
        try archive.erase()
        #expect(throws: SessionSyncError.sessionEnded) { try read(store) }
    }

    @Test func `Damaged and foreign contents are errors with a code`() async throws {
        let world = VirtualWorld(seed: 4)
        let store = MemoryStore()
        let session = try await world.opened(world.transport(phone), store: store)
        session.start()
        for number in 1...5 { try session.submit(.add(number), at: world.now) }
        await world.run(.seconds(1))
        let prefix = "session/counter/\(sessionID.uuidString)/"
        let names = try store.catalog(prefix: prefix)
        #expect(names.keys.count > 1)
        for key in names.keys {
            let bytes = try store.value(for: key) ?? []
            for changed in [[], [0xFF], Array(bytes.dropLast()), bytes + [0]] {
                var batch = StoreBatch()
                batch.set(changed, for: key)
                try store.commit(batch)
                let found = try code { _ = try read(store) }
                #expect(found == .damaged || found == .unreadableState, "\(key) of \(changed.count) bytes")
            }
            var batch = StoreBatch()
            batch.set(bytes, for: key)
            try store.commit(batch)
        }
        #expect(try read(store).state == session.state)
    }
}
