import MeshBenchmarks
package import MeshBus
import MeshFixtures

/// Registers the tables of codecs and frames, and their payloads.
package struct CodecBenchmarkPlugin: Plugin {
    package init() {}

    package var descriptor: PluginDescriptor {
        PluginDescriptor(
            id: "tool.codecs", kind: "tool", module: "MeshCodecBenchmark", version: "0.1.0",
            summary: "Every codec on every payload against every payload limit")
    }

    package func contribute(to registry: inout ExtensionRegistry) {
        registry.add(BenchmarkPayload(id: "event", value: SamplePayloads.event()), to: .benchmarkPayloads)
        registry.add(BenchmarkPayload(id: "metrics", value: SamplePayloads.metrics()), to: .benchmarkPayloads)
        registry.add(BenchmarkPayload(id: "state", value: SamplePayloads.workout()), to: .benchmarkPayloads)
        let track = BenchmarkPayload.Samples(count: 3_000) { SamplePayloads.track(count: $0) }
        registry.add(
            BenchmarkPayload(id: "track", value: track.payload(track.count), samples: track), to: .benchmarkPayloads)
        registry.add(BenchmarkPayload(id: "record", value: SamplePayloads.record()), to: .benchmarkPayloads)
        registry.add(BenchmarkPayload(id: "document", value: SamplePayloads.document()), to: .benchmarkPayloads)
        registry.add(CodecBenchmark.benchmarkCase, to: .benchmarks)
        registry.add(CodecBenchmark.growthCase, to: .benchmarks)
        registry.add(FrameBenchmark.benchmarkCase, to: .benchmarks)
    }
}
