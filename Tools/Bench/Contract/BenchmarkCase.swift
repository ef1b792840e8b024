public import MeshBus

/// A measurement that a plugin offers; `plugins-tool bench` runs what is contributed to `ExtensionPoint.benchmarks`.
///
/// `run` must end within seconds, take its times with the context's stopwatch, and throw rather than leave a row out.
/// An option that it does not know is not for it.
public struct BenchmarkCase: Sendable {
    /// The name that people type to run it, such as `codecs`.
    public let id: String
    /// One line: what the rows compare.
    public let summary: String
    /// Measures, and returns the rows of the table.
    ///
    /// - Throws: any error, which ends the benchmark with it.
    public let run: @Sendable (BenchmarkContext) async throws -> [BenchmarkRow]

    /// A case of that id, which must be unique on a bus.
    public init(
        id: String, summary: String, run: @escaping @Sendable (BenchmarkContext) async throws -> [BenchmarkRow]
    ) {
        self.id = id
        self.summary = summary
        self.run = run
    }
}

extension ExtensionPoint where Value == BenchmarkCase {
    /// The extension point at which measurements register.
    public static let benchmarks = ExtensionPoint("sessionmesh.benchmarks")
}
