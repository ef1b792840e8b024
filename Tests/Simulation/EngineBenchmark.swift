import MeshBus
import MeshEngine
import MeshIdentity

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// What the engine costs: `plugins-tool bench engine`.
enum EngineBenchmark {
    static let benchmarkCase = BenchmarkCase(
        id: "engine", summary: "What an event costs in the engine, and a frame in the simulator"
    ) { context in
        var rows: [BenchmarkRow] = []
        for (name, measure) in cases {
            context.report(name)
            rows.append(row(name, try measure(context)))
        }
        return rows
    }

    /// What a case found: time of one event, and by how many bytes the process grew where that is the question.
    struct Figures {
        var nanoseconds: Double
        var residentBytes = ResidentMemory.bytes
    }

    private static let cases: [(String, @Sendable (BenchmarkContext) throws -> Figures)] = [
        ("memory 1 M to 10 M events", { _ in try memory() }),
        ("submit", { _ in try medianOfRounds { try $0.submit(count: Pair.batch) } }),
        ("receive in order", { _ in try medianOfRounds { try $0.receive(count: Pair.batch) } }),
        ("submit, receive, confirm", { _ in try medianOfRounds { try $0.round(count: Pair.batch) } }),
        ("late event, 100 back, 100 ns reducer", { _ in try late() }),
        ("publish without subscribers", publish),
        ("simulation frame", { _ in simulation() }),
    ]

    private static func row(_ name: String, _ figures: Figures) -> BenchmarkRow {
        [
            "case": .text(name), "nanoseconds": .number(figures.nanoseconds),
            "eventsPerSecond": .number(1_000_000_000 / figures.nanoseconds),
            "residentBytes": .integer(figures.residentBytes),
        ]
    }

    // MARK: - Cases

    /// - Parameter operation: returns the time of its part that counts, for `Pair.batch` events.
    private static func medianOfRounds(_ operation: (inout Pair) throws -> Duration) throws -> Figures {
        var pair = try Pair()
        var times: [Double] = []
        for _ in 0..<200 {
            times.append(try operation(&pair) / .nanoseconds(1) / Double(Pair.batch))
            try pair.settle()
        }
        return Figures(nanoseconds: times.sorted()[times.count / 2])
    }

    /// Acknowledgements flow; what is confirmed is folded.
    private static func memory() throws -> Figures {
        var pair = try Pair()
        func run(_ events: Int) throws -> Duration {
            let start = ContinuousClock.now
            for _ in 0..<(events / Pair.batch) {
                _ = try pair.round(count: Pair.batch)
                try pair.settle()
            }
            return ContinuousClock.now - start
        }
        _ = try run(1_000_000)
        let before = ResidentMemory.bytes
        let time = try run(9_000_000)
        return Figures(
            nanoseconds: time / .nanoseconds(1) / 9_000_000, residentBytes: ResidentMemory.bytes - before)
    }

    /// Each event of the peer belongs 100 places before the newest one here.
    private static func late() throws -> Figures {
        let rounds = SpinningReducer.rounds(nanoseconds: 100)
        var late = try LateArrivals(rounds: rounds)
        return Figures(nanoseconds: try late.nanosecondsPerEvent())
    }

    private static func publish(_ context: BenchmarkContext) -> Figures {
        let topic = Topic<Int>()
        return Figures(nanoseconds: context.stopwatch.nanoseconds { topic.publish(1) })
    }

    private static func simulation() -> Figures {
        let report = Simulation(subjects: [SimulationSubject(ListFeature.self)]).run(0..<200)
        return Figures(nanoseconds: report.wallSeconds * 1_000_000_000 / Double(report.frames))
    }
}

/// What the process occupies now.
enum ResidentMemory {
    /// 0 where the system does not say.
    static var bytes: Int {
        guard let text = try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8) else { return 0 }
        let pages = text.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0
        return pages * 4_096
    }
}
