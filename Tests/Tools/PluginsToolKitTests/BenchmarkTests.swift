import Foundation
import MeshBase
import MeshBenchmarks
import MeshToolOutput
import Testing

@testable import PluginsToolKit

@Suite("Measuring")
struct BenchmarkTests {
    @Test("the stopwatch scales batches to the clock and takes the median", arguments: [1, 7, 1_000, 123_456_789])
    func median(nanosecondsPerCall: Int64) {
        let clock = VirtualClock()
        let stopwatch = BenchmarkStopwatch(batchDuration: .microseconds(100), batchCount: 5) { clock.now }
        let nanoseconds = stopwatch.nanoseconds { clock.advance(by: nanosecondsPerCall) }
        #expect(nanoseconds == Double(nanosecondsPerCall))
    }

    @Test("a disturbed batch does not move the median")
    func disturbed() {
        let clock = VirtualClock()
        let stopwatch = BenchmarkStopwatch(batchDuration: .nanoseconds(1), batchCount: 5) { clock.now }
        let durations: [Int64] = [10, 1_000_000, 10, 11, 10, 9]
        let nanoseconds = stopwatch.nanoseconds { clock.advance(by: durations[clock.advances % durations.count]) }
        #expect(nanoseconds == 10)
    }

    @Test("alternating operations are timed separately")
    func turns() throws {
        let clock = VirtualClock()
        let stopwatch = BenchmarkStopwatch(batchDuration: .microseconds(1), batchCount: 3) { clock.now }
        let durations: [Int64] = [5, 700, 20_000]
        let nanoseconds = try stopwatch.nanoseconds(
            takingTurns: durations.map { duration in { clock.advance(by: duration) } })
        #expect(nanoseconds == durations.map(Double.init))
        #expect(try stopwatch.nanoseconds(takingTurns: []).isEmpty)
    }

    @Test("a throwing operation ends the measurement with its error")
    func throwing() {
        #expect(throws: CancellationError.self) {
            try BenchmarkStopwatch().nanoseconds { throw CancellationError() }
        }
    }

    @Test("a row keeps its order and becomes an object of plain values")
    func row() throws {
        let row: BenchmarkRow = [
            "payload": .text("event"), "bytes": .integer(120), "encodeVsJSON": .number(8.5),
            "fits": .flags(["udp": true]), "capacity": .integers(["udp": 3]),
        ]
        #expect(row.fields.map(\.name) == ["payload", "bytes", "encodeVsJSON", "fits", "capacity"])
        #expect(row["bytes"] == .integer(120))
        #expect(row["frames"] == nil)
        #expect(row.labelled("codecs").fields.map(\.name).prefix(2) == ["benchmark", "payload"])
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        #expect(
            String(decoding: try encoder.encode(row), as: UTF8.self)
                == #"{"bytes":120,"capacity":{"udp":3},"encodeVsJSON":8.5,"fits":{"udp":true},"payload":"event"}"#)
    }

    @Test("figures are grouped, and round without a trap")
    func figures() {
        #expect(0.grouped == "0")
        #expect(999.grouped == "999")
        #expect(1_000.grouped == "1,000")
        #expect((-65_536).grouped == "-65,536")
        #expect(Int.min.grouped == "-9,223,372,036,854,775,808")
        #expect(7.25.figure == "7.2")
        #expect(99.99.figure == "100")
        #expect(12_345.6.figure == "12,346")
        #expect(Double.infinity.figure == "inf")
        #expect(Double.nan.figure == "nan")
    }
}

/// A clock that advances only on request.
private final class VirtualClock: Sendable {
    private let state = Locked((now: Duration.zero, advances: 0))

    var now: Duration { state.withLock { $0.now } }
    var advances: Int { state.withLock { $0.advances } }

    func advance(by nanoseconds: Int64) {
        state.withLock { state in
            state.now += .nanoseconds(nanoseconds)
            state.advances += 1
        }
    }
}
