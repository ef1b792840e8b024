import Foundation
import MeshBenchmarks
import MeshBus
import MeshEngine
import MeshIdentity
import MeshSession
import MeshSimulation
import MeshStorage

/// The cost of persisting a session: `plugins-tool bench store`.
///
/// In each row an engine submits and an archive writes to the store, as in a session. `eventsPerCommit` events share a
/// commit, and so one wait for the disk.
enum StoreBenchmark {
    static let benchmarkCase = BenchmarkCase(
        id: "store", summary: "What an event costs on its way into a store, on disk and out of it"
    ) { context in
        var rows: [BenchmarkRow] = []
        for store in context.contributions(to: .stores) {
            for durability in [StoreDurability.process, .machine] {
                context.report("\(store.plugin), \(durability)")
                let measured = try measure(store, durability)
                rows += measured
                // A store that keeps nothing has no durability to choose.
                if measured.first?["durability"] == .text(StoreDurability.memory.rawValue) { break }
            }
        }
        return rows
    }

    static let effectsCase = BenchmarkCase(
        id: "effects", summary: "What it costs to mark side effects one by one while thousands are due"
    ) { context in
        try context.contributions(to: .stores).map { store in
            context.report("\(store.plugin)")
            return try measureEffects(store, .machine)
        }
    }

    private static let eventsMax = 100_000

    private static func measure(
        _ store: Contribution<StoreFactory>, _ durability: StoreDurability
    ) throws -> [BenchmarkRow] {
        try [1, 32, 1_000].map { eventsPerCommit in
            let folder = FileManager.default.temporaryDirectory.appendingPathComponent("store-\(UUID().uuidString)")
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            defer { try? FileManager.default.removeItem(at: folder) }

            var session = try StoredSession(try store.value.open(folder.path, durability))
            let write = try session.submit(eventsPerCommit: eventsPerCommit, for: .seconds(1))
            let promised = session.store.durability
            var fields: [BenchmarkRow.Field] = [
                .init(name: "store", value: .text(store.plugin.rawValue)),
                .init(name: "durability", value: .text(promised.rawValue)),
                .init(name: "eventsPerCommit", value: .integer(eventsPerCommit)),
                .init(name: "eventsPerSecond", value: .number(Double(write.events) / write.seconds)),
                .init(name: "commitMicroseconds", value: .number(write.seconds * 1e6 / Double(write.commits))),
            ]
            // Once for each store: write the rest fast, then close the store, measure its size and open it again.
            try session.fill(to: eventsMax)
            session.store.close()
            fields.append(
                .init(
                    name: "bytesPerEvent", value: .number(Double(CountingStore.bytes(in: folder)) / Double(eventsMax))))
            let reopening =
                promised == .memory ? 0 : try reopeningSeconds { try store.value.open(folder.path, durability) }
            fields.append(.init(name: "reopenSeconds", value: .number(reopening)))
            return BenchmarkRow(fields: fields)
        }
    }

    /// Measures side effects that are all due at once. Each is marked on its own, with its own commit.
    private static func measureEffects(
        _ store: Contribution<StoreFactory>, _ durability: StoreDurability
    ) throws -> BenchmarkRow {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("store-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }

        let counting = CountingStore(try store.value.open(folder.path, durability))
        var session = try StoredSession(counting, isConfirming: true)
        try session.commit(count: effectsMax)
        let before = counting.written
        let start = ContinuousClock.now
        try session.markEffects()
        let seconds = (ContinuousClock.now - start) / .seconds(1)
        counting.close()
        return BenchmarkRow(fields: [
            .init(name: "store", value: .text(store.plugin.rawValue)),
            .init(name: "durability", value: .text(counting.durability.rawValue)),
            .init(name: "effects", value: .integer(effectsMax)),
            .init(name: "commits", value: .integer(counting.written.commits - before.commits)),
            .init(
                name: "bytesPerEffect",
                value: .number(Double(counting.written.bytes - before.bytes) / Double(effectsMax))),
            .init(name: "markMicroseconds", value: .number(seconds * 1e6 / Double(effectsMax))),
        ])
    }

    private static let effectsMax = 3_000

    /// Returns the time from opening the store to an engine that can continue.
    private static func reopeningSeconds(_ open: () throws -> any SessionStore) throws -> Double {
        let start = ContinuousClock.now
        let session = try StoredSession(restoring: open())
        let seconds = (ContinuousClock.now - start) / .seconds(1)
        guard session.eventCount == eventsMax else { throw IncompleteReopening(events: session.eventCount) }
        session.store.close()
        return seconds
    }

    struct IncompleteReopening: Error {
        var events: Int
    }
}

/// One engine, its archive and its store.
private struct StoredSession {
    private typealias Archive = SessionArchive<Int, ListFeature.Event>
    private typealias Engine = SessionSyncEngine<
        Int, ListFeature.Event, CountingReducer, AcceptingConflictPolicy<Int, ListFeature.Event>
    >

    /// Keeps the state small, so that the benchmark measures the store.
    private struct CountingReducer: SessionSyncReducer {
        func reduce(state: inout Int, event: ListFeature.Event, context: SessionEventContext) { state += 1 }
    }

    let store: any SessionStore
    private var engine: Engine
    private var archive: Archive

    var eventCount: Int { engine.state }

    private static let id = UUID(uuid: (0x53, 0x4D, 0, 0, 0, 0, 0x40, 0, 0x80, 0, 0, 0, 0, 0, 0, 1))

    private static func options(keepsSideEffects: Bool = false) -> SessionEngineOptions<Int, ListFeature.Event> {
        var options = SessionEngineOptions<Int, ListFeature.Event>()
        options.samplesReducer = false
        options.ownUnconfirmedMax = 1 << 20
        options.ownUnconfirmedBytesMax = 1 << 30
        options.keepsSideEffects = keepsSideEffects
        return options
    }

    /// - Parameter isConfirming: True for a group of one. It confirms each submitted event, which then has a side effect.
    init(_ store: any SessionStore, isConfirming: Bool = false) throws {
        self.store = store
        archive = try Archive(store: store, sessionID: Self.id, featureID: "store-benchmark")
        engine = Engine(
            sessionID: Self.id, featureID: "store-benchmark", localPeerID: "phone", payloadType: "event",
            snapshotPayloadType: "state", initialState: 0, reducer: CountingReducer(),
            conflictPolicy: AcceptingConflictPolicy(), incarnation: 1,
            members: isConfirming ? [SessionSource(peerID: "phone", incarnation: 1)] : [],
            options: Self.options(keepsSideEffects: isConfirming))
    }

    init(restoring store: any SessionStore) throws {
        try self.init(store)
        guard let image = try archive.load() else { return }
        engine = try Engine(
            restoring: image, reducer: CountingReducer(), conflictPolicy: AcceptingConflictPolicy(), seed: 1,
            options: Self.options())
    }

    mutating func submit(
        eventsPerCommit: Int, for duration: Duration
    ) throws -> (events: Int, commits: Int, seconds: Double) {
        let start = ContinuousClock.now
        var commits = 0
        while ContinuousClock.now - start < duration, eventCount < StoredSession.eventsInARow {
            try commit(count: eventsPerCommit)
            commits += 1
        }
        return (commits * eventsPerCommit, commits, (ContinuousClock.now - start) / .seconds(1))
    }

    /// Maximum number of measured events. Leaves space for `fill`.
    private static let eventsInARow = 90_000

    mutating func fill(to count: Int) throws {
        while eventCount < count { try commit(count: min(1_000, count - eventCount)) }
    }

    mutating func markEffects() throws {
        for effect in engine.sideEffectsDue {
            engine.markSideEffects(through: effect.position)
            if let persistence = engine.takeDirectives().persist { try archive.save(persistence, of: engine) }
        }
    }

    mutating func commit(count: Int) throws {
        let start = UInt32(eventCount)
        for number in start..<start + UInt32(count) {
            let moment = Date(timeIntervalSince1970: 1_700_000_000 + Double(number) / 1_000)
            _ = try engine.submitLocal(ListFeature.event(number: number, choice: 0, moment: moment), at: moment)
        }
        if let persistence = engine.takeDirectives().persist { try archive.save(persistence, of: engine) }
    }
}
