import MeshBenchmarks
import MeshBus
import MeshIdentity
import MeshTesting
import PluginsToolKit
import Protobuf
import SwiftProtobuf

/// Compares the codecs of MeshWire with swift-protobuf's generated code, in addition to Foundation's JSON and property lists.
/// Adds two cases that need C: compression compared with bare zlib, and allocations.
struct ComparisonsPlugin: Plugin {
    var descriptor: PluginDescriptor {
        PluginDescriptor(
            id: "benchmark.comparisons", kind: "benchmark", module: "benchmarks", version: "0.1.0",
            summary: "Other libraries' codecs, to compare ours with", requires: ["testing.conformance"])
    }

    func contribute(to registry: inout ExtensionRegistry) throws {
        let event = SamplePayloads.event()
        let metrics = SamplePayloads.metrics()
        let workout = SamplePayloads.workout()
        let track = SamplePayloads.track()
        let forms = [
            protobuf("event") { ProtoEnvelope(metadata: $0, event: event) },
            protobuf("metrics") { ProtoEnvelope(metadata: $0, metrics: metrics) },
            protobuf("state") { ProtoEnvelope(metadata: $0, state: workout) },
            protobuf("track") { ProtoEnvelope(metadata: $0, track: track) },
        ]
        for form in forms { registry.add(form, to: .comparedForms) }
        registry.add(CompressionBenchmark.benchmarkCase, to: .benchmarks)
        registry.add(AllocationBenchmark.benchmarkCase, to: .benchmarks)
    }

    /// Encodes and decodes generated messages. They are created beforehand: a program built on protobuf holds them anyway.
    private func protobuf(_ id: String, _ make: (SessionSyncMetadata) -> ProtoEnvelope) -> ComparedForm {
        let envelope = make(.benchmarkSample(payloadType: "sample.\(id)"))
        return ComparedForm(
            payload: id, name: "protobuf", encode: { try envelope.serializedBytes() as [UInt8] },
            decode: { _ = try ProtoEnvelope(serializedBytes: $0) }, count: \.count)
    }
}
