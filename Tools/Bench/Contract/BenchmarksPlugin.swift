public import MeshBus

/// Registers MeshBenchmarks.
public struct BenchmarksPlugin: Plugin {
    /// It has no settings.
    public init() {}

    public var descriptor: PluginDescriptor {
        PluginDescriptor(
            id: "testing.benchmarks", kind: .testing, module: "MeshBenchmarks", version: "0.1.0",
            summary: "What a measurement is: cases, payloads, rows, a stopwatch", requires: ["core.bus"])
    }
}
