import MeshBenchmarks
import MeshToolOutput

/// Counts the traffic and store writes of a phone and a watch, idle and in a workout. Battery and flash wear depend on them.
///
/// Runs in virtual time, so its counts are exact and the same on every machine.
struct EnergyBenchmark {
    static let benchmarkCase = BenchmarkCase(
        id: "energy", summary: "Messages, bytes, radio bursts and store writes of a phone and a watch, in virtual time"
    ) { context in
        guard #available(macOS 15.0, iOS 18.0, watchOS 11.0, tvOS 18.0, visionOS 2.0, *) else {
            throw ToolError("'energy' needs macOS 15: it moves the main actor into virtual time")
        }
        return try EnergyScenario.allCases.flatMap { scenario in
            context.report("energy: \(scenario.rawValue)")
            return try EnergyRun.counts(of: scenario).map(\.row)
        }
    }
}

/// The actions of the devices in one run.
enum EnergyScenario: String, CaseIterable, Sendable {
    case idle, taps
    case shown = "heart rate shown"
    case recorded = "heart rate recorded"
    case both = "shown and recorded"

    var showsHeartRate: Bool { self == .shown || self == .both }
    var recordsHeartRate: Bool { self == .recorded || self == .both }

    /// The spans of time that are counted, one for each row.
    var spans: [EnergySpan] {
        guard self == .idle else { return [EnergySpan(name: rawValue, from: .zero, minutes: 30)] }
        return [
            EnergySpan(name: "idle", from: .zero, minutes: 60),
            EnergySpan(name: "idle, from minute 10", from: .seconds(600), minutes: 60),
        ]
    }

    /// The second of each tap, and the device: the phone is 0 and the watch 1.
    var taps: [(second: Int, device: Int)] {
        if self == .idle { return [(1, 0), (2, 1)] }
        return (0..<20).map { (1 + $0 * 90, 1 - $0 % 2) }
    }
}

/// A part of a scenario that one row counts.
struct EnergySpan: Sendable {
    let name: String
    let from: Duration
    let minutes: Int

    var end: Duration { from + .seconds(minutes * 60) }
}

/// The number of messages and writes of both devices in a span.
struct EnergyCounts: Codable, Equatable, Sendable {
    /// The number of messages by WatchConnectivity call.
    struct Lanes: Codable, Equatable, Sendable {
        var message = 0
        var userInfo = 0
        var context = 0
    }

    let scenario: String
    let minutes: Int
    var messages = 0
    /// Number of bytes passed to WatchConnectivity.
    var bytes = 0
    /// Number of messages sent after both devices had been silent for more than 0.2 seconds.
    var bursts200ms = 0
    /// Number of messages sent after both devices had been silent for more than 2 seconds.
    var bursts2s = 0
    /// Number of commits of both stores.
    var writes = 0
    var lanes = Lanes()

    init(_ span: EnergySpan) {
        scenario = span.name
        minutes = span.minutes
    }

    var row: BenchmarkRow {
        [
            "scenario": .text(scenario), "minutes": .integer(minutes), "messages": .integer(messages),
            "bytes": .integer(bytes), "bursts200ms": .integer(bursts200ms), "bursts2s": .integer(bursts2s),
            "writes": .integer(writes),
            "lanes": .integers(["message": lanes.message, "userInfo": lanes.userInfo, "context": lanes.context]),
        ]
    }
}
