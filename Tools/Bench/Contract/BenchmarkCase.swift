public import MeshBus

/// A benchmark that a plugin offers. `plugins-tool bench` runs the contributions to `ExtensionPoint.benchmarks`.
///
/// `run` must end within seconds and take its times with the context's stopwatch. It must throw instead of leaving out a row,
/// and ignore unknown options.
public struct BenchmarkCase: Sendable {
    /// The name of the case on the command line, such as `codecs`.
    public let id: String
    /// One line that says what the rows compare.
    public let summary: String
    /// Runs the benchmark and returns the rows of the table.
    ///
    /// - Throws: Any error. It ends the benchmark.
    public let run: @Sendable (BenchmarkContext) async throws -> [BenchmarkRow]

    /// Creates a case of a benchmark. The ID must be unique on a bus.
    public init(
        id: String, summary: String, run: @escaping @Sendable (BenchmarkContext) async throws -> [BenchmarkRow]
    ) {
        self.id = id
        self.summary = summary
        self.run = run
    }
}

extension ExtensionPoint where Value == BenchmarkCase {
    /// The extension point at which benchmarks register.
    public static let benchmarks = ExtensionPoint("sessionmesh.benchmarks")
}
