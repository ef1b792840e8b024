import MeshBase
import MeshBenchmarks
import MeshEngine
import MeshFoundation
import MeshIdentity

/// The cost of an event in the engine: `plugins-tool bench engine`.
///
/// Every event passes through two sealed members whose reducer adds numbers, called as from another module. Times are medians
/// of batches. `residentBytes` is the resident memory of the process after the case. In the growth row it is the growth
/// between one and ten million events.
enum EngineBenchmark {
    static let benchmarkCase = BenchmarkCase(
        id: "engine", summary: "What an event costs in the engine"
    ) { context in
        // First, before another case has left memory behind.
        context.report("memory")
        var rows = try memory()
        for (name, measure) in cases {
            context.report(name)
            rows.append(row(name, nanoseconds: try measure(context)))
        }
        for count in [2, 5, 16] {
            let name = "event of one of \(count) members, for all of them"
            context.report(name)
            rows.append(row(name, nanoseconds: try group(count)))
        }
        for count in [100, 100_000] {
            let name = "event that grows a list of \(count), confirmed on both sides"
            context.report(name)
            var pair = try GrowingPair(count: count)
            rows.append(row(name, nanoseconds: try pair.nanosecondsPerEvent(of: 8_192)))
        }
        for count in [500, 4_000, 16_000] {
            context.report("merge of \(count) + \(count)")
            rows += try merge(count, 0, SpinningReducer(rounds: 1), "a number")
            rows += try merge(count, [], ListReducer(), "a list")
        }
        return rows
    }

    /// The single-value cases. Each closure returns the nanoseconds of one event.
    private static let cases: [(name: String, measure: @Sendable (BenchmarkContext) throws -> Double)] = [
        ("submit", { _ in try medianOfRounds { try $0.submit(count: Pair.batch) } }),
        ("receive in order", { _ in try medianOfRounds { try $0.receive(count: Pair.batch) } }),
        ("submit, receive, confirm on both sides", { _ in try medianOfRounds { try $0.round(count: Pair.batch) } }),
        ("interned frame to applied", { _ in try frames(.interned) }),
        ("self-contained frame to applied", { _ in try frames(.selfContained) }),
        ("late event, 100 back, 100 ns reducer", { _ in try late() }),
        ("publish without subscribers", publish),
    ]

    private static func row(
        _ name: String, nanoseconds: Double, residentBytes: Int = ResidentMemory.bytes
    ) -> BenchmarkRow {
        [
            "case": .text(name), "nanoseconds": .number(nanoseconds),
            "eventsPerSecond": .number(1_000_000_000 / nanoseconds), "residentBytes": .integer(residentBytes),
        ]
    }

    // MARK: - Cases

    /// - Parameter operation: Returns the time of the measured part, for `Pair.batch` events.
    private static func medianOfRounds(_ operation: (inout Pair) throws -> Duration) throws -> Double {
        var pair = try Pair()
        return try median {
            let time = try operation(&pair)
            try pair.settle()
            return time
        }
    }

    private static func frames(_ form: FramePair.Form) throws -> Double {
        var pair = try FramePair(form)
        return try median { try pair.receive(count: Pair.batch) }
    }

    /// - Parameter batch: Returns the time of `Pair.batch` events.
    private static func median(_ batch: () throws -> Duration) rethrows -> Double {
        let times = try (0..<400).map { _ in try batch() }
        return times.sorted()[times.count / 2] / .nanoseconds(1) / Double(Pair.batch)
    }

    private static func group(_ count: Int) throws -> Double {
        var group = try BenchmarkedGroup(count)
        let times = try (0..<100).map { _ in try group.round() }
        guard group.confirmedCount >= 98 * BenchmarkedGroup.batch else { throw NotApplied() }
        return times.sorted()[times.count / 2] / .nanoseconds(1) / Double(BenchmarkedGroup.batch)
    }

    /// Memory while acknowledgements flow and confirmed events are folded.
    private static func memory() throws -> [BenchmarkRow] {
        var pair = try Pair()
        func nanoseconds(events: Int) throws -> Double {
            let start = ContinuousClock.now
            for _ in 0..<(events / Pair.batch) {
                _ = try pair.round(count: Pair.batch)
                try pair.settle()
            }
            return (ContinuousClock.now - start) / .nanoseconds(1) / Double(events)
        }
        let early = try nanoseconds(events: 1_000_000)
        let before = ResidentMemory.bytes
        let late = try nanoseconds(events: 9_000_000)
        let after = ResidentMemory.bytes
        return [
            row("1 M events confirmed", nanoseconds: early, residentBytes: before),
            row("10 M events confirmed", nanoseconds: late, residentBytes: after),
            row("growth from 1 M to 10 M events", nanoseconds: late, residentBytes: after - before),
        ]
    }

    /// Measures events of a peer that belong 100 places before the newest event here.
    private static func late() throws -> Double {
        let rounds = SpinningReducer.rounds(nanoseconds: 100)
        var late = try LateArrivals(rounds: rounds)
        return try late.nanosecondsPerEvent()
    }

    /// Measures a merge, in batches as a peer answers. Times are per event, counting the events of both devices.
    private static func merge<State, Reducer: SessionSyncReducer<State, Int>>(
        _ count: Int, _ initialState: State, _ reducer: Reducer, _ name: String
    ) throws -> [BenchmarkRow] {
        let merge = try Merge(count, initialState, reducer)
        func nanoseconds(_ measure: () throws -> Duration) rethrows -> Double {
            let times = try (0..<5).map { _ in try measure() }
            return times.sorted()[2] / .nanoseconds(1) / Double(2 * count)
        }
        let batchSize = 64
        return [
            row("\(2 * count) events of two in order, \(name)", nanoseconds: try nanoseconds(merge.inOrder)),
            row(
                "\(count) merged into \(count), \(batchSize) at once, of all \(2 * count), \(name)",
                nanoseconds: try nanoseconds { try merge.merged(batchSize: batchSize) }),
        ]
    }

    private static func publish(_ context: BenchmarkContext) -> Double {
        let topic = Topic<Int>()
        return context.stopwatch.nanoseconds { topic.publish(1) }
    }

}

/// The resident memory of this process.
enum ResidentMemory {
    /// Resident bytes, or 0 if the system doesn't report them.
    static var bytes: Int {
        guard let text = try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8) else { return 0 }
        let pages = text.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0
        return pages * 4_096
    }
}
