import MeshBenchmarks
import MeshBus

/// Registers the measurements that need more than one module.
struct PluginsToolKitPlugin: Plugin {
    var descriptor: PluginDescriptor {
        PluginDescriptor(
            id: "tool.plugins", kind: "tool", module: "PluginsToolKit", version: "0.1.0",
            summary: "Lists, describes, measures and checks plugins on the command line")
    }

    func contribute(to registry: inout ExtensionRegistry) {
        registry.add(AloneBenchmark.benchmarkCase, to: .benchmarks)
        registry.add(KeyBenchmark.benchmarkCase, to: .benchmarks)
        registry.add(LinkBenchmark.benchmarkCase, to: .benchmarks)
        registry.add(SeriesBenchmark.benchmarkCase, to: .benchmarks)
        registry.add(StateBenchmark.benchmarkCase, to: .benchmarks)
        registry.add(TapBenchmark.benchmarkCase, to: .benchmarks)
        registry.add(WayBenchmark.benchmarkCase, to: .benchmarks)
    }
}
