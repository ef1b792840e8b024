import MeshBase
import MeshBenchmarks
import MeshWire

/// The cost that a frame adds to a stored body: header and checksum, compared with copying the body.
struct FrameBenchmark {
    static let benchmarkCase = BenchmarkCase(
        id: "frames",
        summary: "A stored body into a frame: what header and checksum cost beside copying the body",
        run: { context in try FrameBenchmark(context).rows() })

    private let context: BenchmarkContext
    private let stopwatch: BenchmarkStopwatch

    init(_ context: BenchmarkContext) {
        self.context = context
        stopwatch = BenchmarkStopwatch(
            batchDuration: context.stopwatch.batchDuration, batchCount: context.stopwatch.batchCount,
            now: ThreadTime.now)
    }

    func rows() throws -> [BenchmarkRow] {
        try [32, 64, 101, 138, 512, 4096].map { bodyBytes in
            context.report("frames: \(bodyBytes) bytes")
            let writers = Writers(bodyBytes: bodyBytes)
            let nanoseconds = try stopwatch.nanoseconds(takingTurns: [{ writers.copy() }, { writers.frame() }])
            return [
                "bodyBytes": .integer(bodyBytes), "frameBytes": .integer(writers.frameBytes),
                "copyNanoseconds": .number(nanoseconds[0]), "frameNanoseconds": .number(nanoseconds[1]),
                "framingNanoseconds": .number(nanoseconds[1] - nanoseconds[0]),
            ]
        }
    }
}

/// A body and its writers. Keeps its memory between calls, as a connection does.
private final class Writers {
    private let body: [UInt8]
    private var writer = WireWriter(capacity: 8192)

    init(bodyBytes: Int) { body = (0..<bodyBytes).map { UInt8(truncatingIfNeeded: $0 &* 31) } }

    var frameBytes: Int {
        frame()
        return writer.count
    }

    func copy() {
        writer.reset()
        body.withUnsafeBytes { writer.writeRaw($0) }
    }

    func frame() {
        writer.reset()
        body.withUnsafeBytes { RawFrameBuilder.append(kind: 2, codec: 2, flags: 0, body: $0, to: &writer) }
    }
}
