import Foundation
import MeshBenchmarks
import MeshBus
import MeshEngine
import MeshIdentity
import MeshSession
import MeshSimulation
import MeshStorage
import MeshToolOutput
import MeshTransport

/// The cost of a day that a watch spends away from the phone, and of reconnecting: `plugins-tool bench alone`.
///
/// The watch's session has a store. It takes a sample every second and a tap every minute. Then a pipe connects it to the
/// phone's session, which has had one tap an hour. The day passes as fast as this machine writes. With `--speed 100` it
/// passes a hundred times as fast as real time.
@MainActor struct AloneBenchmark {
    nonisolated static let benchmarkCase = BenchmarkCase(
        id: "alone", summary: "What a day away from the other device costs: writes, bytes, memory, and meeting again"
    ) { context in
        let speed = context.options["speed"].flatMap(Double.init)
        if let text = context.options["speed"], speed.map({ $0 > 0 && $0.isFinite }) != true {
            throw ToolError("--speed '\(text)' isn't a number above 0")
        }
        let stores = context.contributions(to: .stores)
        var rows: [BenchmarkRow] = []
        for store in stores {
            let benchmark = try await AloneBenchmark(context, store, speed: speed)
            // A memory store is measured only if there is no other.
            if benchmark.store.durability == .memory, stores.count > 1 {
                benchmark.end()
                continue
            }
            rows.append(try await benchmark.row())
        }
        return rows
    }

    private static let seconds = 86_400

    private let context: BenchmarkContext
    private let name: String
    private let speed: Double?
    private let folder: URL
    private let store: CountingStore
    private let time = SteppedClock()
    private let memoryBefore = Self.peakMemory

    private init(_ context: BenchmarkContext, _ store: Contribution<StoreFactory>, speed: Double?) throws {
        self.context = context
        self.speed = speed
        name = store.plugin.rawValue
        folder = FileManager.default.temporaryDirectory.appendingPathComponent("alone-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        self.store = CountingStore(try store.value.open(folder.path, .process))
    }

    private func row() async throws -> BenchmarkRow {
        defer { end() }
        let links = context.contributions(to: .measuredLinks).map(\.value)
        guard let link = links.first(where: { $0.id == "pipe" }), case .processes(let channel, let makeEnd) = link.form
        else { throw ToolError("the link 'pipe' is missing; the two devices meet over it") }
        signal(SIGPIPE, SIG_IGN)
        let (mine, theirs) = try channel.open()
        let transport = try await makeEnd(LinkPeers.asking, mine.input, mine.output)
        let watch = try await session(on: transport, store)
        watch.start()
        let refused = try await live(watch)
        let (written, atRest, memory) = (store.written, size, Self.peakMemory)

        context.report("\(name): meeting")
        let met = ContinuousClock.now
        time.runInRealTime()
        let others = try await makeEnd(LinkPeers.answering, theirs.input, theirs.output)
        let phone = try await session(on: others, nil)
        for hour in 0..<24 {
            try phone.submit(.tap, at: time.start.addingTimeInterval(Double(hour * 3600)))
        }
        phone.start()
        try await untilEqual(watch, phone)
        let seconds = (ContinuousClock.now - met) / .seconds(1)
        let row: BenchmarkRow = [
            "store": .text(name), "events": .integer(watch.statistics.submitted),
            "refused": .integer(refused), "commits": .integer(written.commits),
            "writtenMegabytes": .number(Double(written.bytes) / 1e6),
            "restingMegabytes": .number(Double(atRest) / 1e6),
            "aloneMegabytes": .number(memory - memoryBefore), "meetingSeconds": .number(seconds),
            "peakMegabytes": .number(Self.peakMemory - memoryBefore),
            "laterRestingMegabytes": .number(Double(size) / 1e6),
        ]
        for session in [watch, phone] { session.stop() }
        await transport.close()
        await others.close()
        return row
    }

    private nonisolated func end() {
        store.close()
        try? FileManager.default.removeItem(at: folder)
    }

    /// Writes the samples and taps of the day, each second before the next.
    /// - Returns: Number of events that the session refused.
    private func live(_ watch: DaySession) async throws -> Int {
        var refused = 0
        let begun = ContinuousClock.now
        for second in 0..<Self.seconds {
            if second.isMultiple(of: 600) {
                context.report("\(name): \(second / 3600) h \(second / 60 % 60) min alone")
            }
            if let speed { try await Task.sleep(until: begun + .seconds(Double(second) / speed), clock: .continuous) }
            time.advance(to: Double(second))
            let before = store.written.commits
            var events = [DayEvent.sample(heartRate: 120 + second % 40, metres: 3.1 * Double(second))]
            if second.isMultiple(of: 60) { events.append(.tap) }
            let earlier = refused
            for event in events {
                do { try watch.submit(event) } catch SessionSyncError.logFull { refused += 1 }
            }
            guard refused - earlier < events.count else { continue }
            while store.written.commits == before { await Task.yield() }
        }
        return refused
    }

    private func untilEqual(_ watch: DaySession, _ phone: DaySession) async throws {
        let start = ContinuousClock.now
        while watch.state != phone.state || watch.confirmedCount != phone.confirmedCount
            || phone.confirmedCount < UInt64(watch.statistics.submitted)
        {
            try await Task.sleep(for: .milliseconds(10))
            guard ContinuousClock.now - start < .seconds(600) else {
                throw ToolError("the two devices still differed after ten minutes")
            }
        }
    }

    private func session(on transport: any SessionSyncTransport, _ store: (any SessionStore)?) async throws
        -> DaySession
    {
        var configuration = SyncedSessionConfiguration<Day, DayEvent>()
        configuration.incarnation = 1
        configuration.members = LinkPeers.members
        configuration.isHighRate = { if case .sample = $0 { true } else { false } }
        (configuration.now, configuration.uptime) = (time.now, time.uptime)
        configuration.wait = time.wait
        return try await DaySession.open(
            sessionID: LinkPeers.sessionID, featureID: LinkPeers.featureID, transport: transport, store: store,
            initialState: Day(),
            reducer: DayReducer(), conflictPolicy: AcceptingConflictPolicy(), configuration: configuration)
    }

    private var size: Int { CountingStore.bytes(in: folder) }

    /// Peak memory of the process so far, in megabytes.
    static var peakMemory: Double {
        var usage = rusage()
        #if canImport(Darwin)
            getrusage(RUSAGE_SELF, &usage)
            return Double(usage.ru_maxrss) / 1e6
        #else
            getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
            return Double(usage.ru_maxrss) * 1024 / 1e6
        #endif
    }
}

private typealias DaySession = SyncedSession<Day, DayEvent, DayReducer, AcceptingConflictPolicy<Day, DayEvent>>

private struct Day: Codable, Sendable, Equatable {
    var samples = 0
    var taps = 0
    var heartBeats = 0
    var metres = 0.0
}

private enum DayEvent: Codable, Sendable {
    case sample(heartRate: Int, metres: Double)
    case tap
}

private struct DayReducer: SessionSyncReducer {
    func reduce(state: inout Day, event: DayEvent, context: SessionEventContext) {
        switch event {
        case .sample(let heartRate, let metres):
            state.samples += 1
            state.heartBeats += heartRate
            state.metres = metres
        case .tap: state.taps += 1
        }
    }
}
