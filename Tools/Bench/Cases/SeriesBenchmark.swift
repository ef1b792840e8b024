import Foundation
import MeshBenchmarks
import MeshBus
import MeshEngine
import MeshGPX
import MeshIdentity
import MeshScenarioTransport
import MeshSeries
import MeshSession
import MeshSimulation
import MeshStorage
import MeshToolOutput
import MeshTransport
import MeshWire

/// The cost of samples as a series, and as ordered events: `plugins-tool bench series`.
///
/// With `--gpx` a watch sends the points of a recording, one a second, to a phone over a calm network in virtual time. It sends
/// them once as events and once as a series. The result is the bytes in both directions, and the size of the watch's store
/// while it is alone. For comparison: the same samples in one piece, `compact` and zlib. Then ten million samples of one series
/// are written to a store. One minute is read from their middle, and all are sent to a new peer over memory.
@MainActor struct SeriesBenchmark {
    nonisolated static let benchmarkCase = BenchmarkCase(
        id: "series", summary: "What samples cost as a series and as events, and ten million of them"
    ) { context in
        var rows: [BenchmarkRow] = []
        if let path = context.options["gpx"] {
            let samples = try TrackSample.samples(at: path)
            context.report("\(samples.count) points as events")
            let events = try await SeriesBenchmark().workout(samples, asEvents: true)
            context.report("\(samples.count) points as a series")
            let series = try await SeriesBenchmark().workout(samples, asEvents: false)
            let packed = try TrackSample.compressedCount(samples)
            rows.append(row("events on the wire", events.sent, of: events.sent, samples.count))
            rows.append(row("series on the wire", series.sent, of: events.sent, samples.count))
            rows.append(row("events at rest", events.stored, of: events.stored, samples.count))
            rows.append(row("series at rest", series.stored, of: events.stored, samples.count))
            rows.append(row("compact and zlib, at once", packed, of: events.stored, samples.count))
        }
        for store in context.contributions(to: .stores) {
            rows.append(contentsOf: try await SeriesBenchmark().millions(context, store))
        }
        return rows
    }

    nonisolated private static func row(_ name: String, _ bytes: Int, of whole: Int, _ count: Int) -> BenchmarkRow {
        [
            "case": .text(name), "bytes": .integer(bytes), "bytesPerSample": .number(Double(bytes) / Double(count)),
            "ofEvents": .number(Double(bytes) / Double(whole)),
        ]
    }

    // MARK: - A workout

    private let time = SteppedClock()

    private func workout(_ samples: [TrackSample], asEvents: Bool) async throws -> (sent: Int, stored: Int) {
        let alone = MemoryStore()
        guard try await live(samples, asEvents: asEvents, store: alone, with: nil) else { throw NotWhole() }
        let network = ScenarioNetwork(seed: 1, traceLimit: 1 << 22)
        let isMet = try await SeriesBenchmark().live(samples, asEvents: asEvents, store: MemoryStore(), with: network)
        guard isMet else { throw NotWhole() }
        let sent = network.trace.reduce(0) { sum, entry in
            if case .packet(_, let byteCount) = entry.subject { sum + byteCount } else { sum }
        }
        return (sent, try Self.bytes(in: alone))
    }

    /// - Parameter network: Network to the phone; nil if the watch is alone.
    private func live(
        _ samples: [TrackSample], asEvents: Bool, store: any SessionStore, with network: ScenarioNetwork?
    ) async throws -> Bool {
        let home = network ?? ScenarioNetwork(seed: 1)
        let watch = try await session(home.makeTransport(localPeer: LinkPeers.asking), store)
        let phone = try await session(home.makeTransport(localPeer: LinkPeers.answering), nil)
        defer { for session in [watch, phone] { session.stop() } }
        watch.start()
        if network != nil { phone.start() }
        for (second, sample) in samples.enumerated() {
            if asEvents { try watch.submit(sample) } else { try watch.record(sample, in: .track) }
            await pass(to: Double(second + 1), home)
        }
        func isComplete(_ session: TrackSession) -> Bool {
            asEvents ? session.state.count == samples.count : session.summary(of: .track).count == samples.count
        }
        var second = samples.count
        while !isComplete(network == nil ? watch : phone), second < samples.count + 60 {
            second += 1
            await pass(to: Double(second), home)
        }
        return isComplete(network == nil ? watch : phone)
    }

    private func pass(to second: Double, _ network: ScenarioNetwork) async {
        for step in 1...10 {
            network.advance(by: .milliseconds(100))
            time.advance(to: second - 1 + Double(step) / 10)
            for _ in 0..<20 { await Task.yield() }
        }
    }

    private func session(_ transport: any SessionSyncTransport, _ store: (any SessionStore)?) async throws
        -> TrackSession
    {
        var configuration = SyncedSessionConfiguration<TrackState, TrackSample>()
        configuration.incarnation = 1
        configuration.members = LinkPeers.members
        configuration.isHighRate = { _ in true }
        (configuration.now, configuration.uptime) = (time.now, time.uptime)
        configuration.wait = time.wait
        return try await TrackSession.open(
            sessionID: LinkPeers.sessionID, featureID: LinkPeers.featureID, transport: transport,
            store: store, initialState: TrackState(), reducer: TrackReducer(),
            conflictPolicy: AcceptingConflictPolicy(),
            configuration: configuration)
    }

    /// Returns the number of bytes of all values and journals in the store.
    private static func bytes(in store: any SessionStore) throws -> Int {
        let catalog = try store.catalog(prefix: "")
        var count = 0
        for key in catalog.keys { count += try store.value(for: key)?.count ?? 0 }
        for journal in catalog.journals { try store.forEachEntry(of: journal.name) { count += $0.bytes.count } }
        return count
    }

    // MARK: - Ten million

    private static let count = 10_000_000

    private func millions(
        _ context: BenchmarkContext, _ factory: Contribution<StoreFactory>
    ) async throws -> [BenchmarkRow] {
        let name = factory.plugin.rawValue
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("series-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let store = try factory.value.open(folder.path, .process)
        defer { store.close() }
        let network = ScenarioNetwork(seed: 1)
        time.runInRealTime()
        let watch = try await session(network.makeTransport(localPeer: LinkPeers.asking), store)
        watch.start()

        let memory = AloneBenchmark.peakMemory
        var start = ContinuousClock.now
        var random = SplitMix64(seed: 1)
        var sample = TrackSample(latitude: 45.7721750, longitude: 14.3576592, elevation: 542.3)
        let noon = time.start
        for number in 0..<Self.count {
            sample.latitude =
                ((sample.latitude * 1e7).rounded() + Double(Int64.random(in: 0...300, using: &random))) / 1e7
            sample.longitude =
                ((sample.longitude * 1e7).rounded() + Double(Int64.random(in: -60...60, using: &random))) / 1e7
            if sample.latitude > 80 { sample.latitude = 45 }
            try watch.record(sample, in: .track, at: noon + Double(number))
            guard number % 4096 == 0 else { continue }
            if number % 100_000 == 0 { context.report("\(name): \(number.grouped) samples") }
            while watch.seriesStatuses.first?.storedCount != number + 1 {
                try await Task.sleep(for: .microseconds(100))
            }
        }
        while watch.seriesStatuses.first?.storedCount != Self.count { try await Task.sleep(for: .milliseconds(1)) }
        let writing = (ContinuousClock.now - start) / .seconds(1)
        let stored = watch.seriesStatuses.first?.byteCount ?? 0
        let written = AloneBenchmark.peakMemory - memory

        context.report("\(name): a minute")
        let middle = noon + Double(Self.count / 2)
        start = .now
        let minute = try await watch.samples(of: .track, in: middle...middle + 59)
        let reading = (ContinuousClock.now - start) / .seconds(1)
        guard minute.count == 60 else { throw NotWhole() }

        let phone = try await session(network.makeTransport(localPeer: LinkPeers.answering), nil)
        phone.start()
        start = .now
        while phone.summary(of: .track).count < Self.count {
            network.advance(by: .milliseconds(1))
            try await Task.sleep(for: .microseconds(100))
            context.report("\(name): newcomer has \(phone.summary(of: .track).count.grouped)")
            guard ContinuousClock.now - start < .seconds(600) else { throw NotWhole() }
        }
        let sending = (ContinuousClock.now - start) / .seconds(1)
        for session in [watch, phone] { session.stop() }
        return [
            [
                "case": .text("ten million, \(name)"), "bytes": .integer(stored),
                "bytesPerSample": .number(Double(stored) / Double(Self.count)), "writeSeconds": .number(writing),
                "writeMegabytesOfMemory": .number(written), "readMinuteSeconds": .number(reading),
                "sendSeconds": .number(sending), "peakMegabytesOfMemory": .number(AloneBenchmark.peakMemory - memory),
            ]
        ]
    }
}

/// The devices did not end as expected, so the measurement means nothing.
private struct NotWhole: Error {}

private typealias TrackSession = SyncedSession<
    TrackState, TrackSample, TrackReducer, AcceptingConflictPolicy<TrackState, TrackSample>
>

private struct TrackSample: Codable, Sendable {
    var latitude: Double
    var longitude: Double
    var elevation: Double?
    var heartRate: Int?

    static func samples(at path: String) throws -> [TrackSample] {
        do {
            return try GPXRecording(path: path).points.map {
                TrackSample(
                    latitude: $0.latitude, longitude: $0.longitude, elevation: $0.elevation, heartRate: $0.heartRate)
            }
        } catch {
            throw ToolError("\(error)")
        }
    }

    /// Returns the compressed size of the samples with a time each, as in a series.
    static func compressedCount(_ samples: [TrackSample]) throws -> Int {
        struct Timed: Codable {
            var time: Date
            var sample: TrackSample
        }
        let start = Date(timeIntervalSince1970: 1_767_225_600)
        let bytes = try CompactCodec().encode(samples.enumerated().map { Timed(time: start + Double($0), sample: $1) })
        let deflater = try ZlibDeflater()
        return try bytes.withUnsafeBytes { try deflater.compress($0).count }
    }
}

extension Series<TrackSample> {
    fileprivate static let track = Series("track")
}

private struct TrackState: Codable, Sendable, Equatable {
    var count = 0
    var latitude = 0.0
}

private struct TrackReducer: SessionSyncReducer {
    func reduce(state: inout TrackState, event: TrackSample, context: SessionEventContext) {
        state.count += 1
        state.latitude = event.latitude
    }
}
