import MeshBenchmarks
public import MeshBus

/// Offers every benchmark that needs only this package without traits.
public struct BenchmarkCasesPlugin: Plugin {
    public init() {}

    public var descriptor: PluginDescriptor {
        PluginDescriptor(
            id: "tool.benchmark-cases", kind: "tool", module: "MeshBenchmarkCases", version: "0.1.0",
            summary: "What engines, stores, links, keys, series and states cost",
            requires: ["core.engine", "feature.session", "testing.benchmarks"])
    }

    public func contribute(to registry: inout ExtensionRegistry) {
        let cases = [
            AloneBenchmark.benchmarkCase, EnergyBenchmark.benchmarkCase, EngineBenchmark.benchmarkCase,
            KeyBenchmark.benchmarkCase, LinkBenchmark.benchmarkCase, MergeBenchmark.benchmarkCase,
            SeriesBenchmark.benchmarkCase, StateBenchmark.benchmarkCase, StoreBenchmark.benchmarkCase,
            StoreBenchmark.effectsCase, TapBenchmark.benchmarkCase, WayBenchmark.benchmarkCase,
        ]
        for benchmark in cases { registry.add(benchmark, to: .benchmarks) }
    }
}
