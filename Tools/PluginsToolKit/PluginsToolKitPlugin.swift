import MeshBus
import MeshTesting

/// Registers the measurements that need more than one module: the codec table and the payloads that it measures with.
struct PluginsToolKitPlugin: Plugin {
    var descriptor: PluginDescriptor {
        PluginDescriptor(
            id: "tool.plugins", kind: "tool", module: "PluginsToolKit", version: "0.1.0",
            summary: "Lists, describes, measures and checks plugins on the command line")
    }

    func contribute(to registry: inout ExtensionRegistry) {
        registry.add(BenchmarkPayload(id: "event", value: SamplePayloads.event()), to: .benchmarkPayloads)
        registry.add(BenchmarkPayload(id: "metrics", value: SamplePayloads.metrics()), to: .benchmarkPayloads)
        registry.add(BenchmarkPayload(id: "state", value: SamplePayloads.workout()), to: .benchmarkPayloads)
        let track = BenchmarkPayload.Samples(count: 3_000) { SamplePayloads.track(count: $0) }
        registry.add(
            BenchmarkPayload(id: "track", value: track.payload(track.count), samples: track), to: .benchmarkPayloads)
        registry.add(CodecBenchmark.benchmarkCase, to: .benchmarks)
        registry.add(FrameBenchmark.benchmarkCase, to: .benchmarks)
        registry.add(LinkBenchmark.benchmarkCase, to: .benchmarks)
        registry.add(StateBenchmark.benchmarkCase, to: .benchmarks)
    }
}
