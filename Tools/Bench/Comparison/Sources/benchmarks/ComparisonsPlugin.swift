import MeshBenchmarks
import MeshBus
import MeshIdentity
import MeshTesting
import PluginsToolKit
import Protobuf
import SwiftProtobuf

/// What the codecs of MeshWire are compared with beside Foundation's JSON and property lists: swift-protobuf with generated
/// code; and two cases that need C: compression beside bare zlib, and allocations.
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

    /// Generated messages into bytes and back. Messages are made beforehand: a program built on protobuf holds them.
    private func protobuf(_ id: String, _ make: (SessionSyncMetadata) -> ProtoEnvelope) -> ComparedForm {
        let envelope = make(.benchmarkSample(payloadType: "sample.\(id)"))
        return ComparedForm(
            payload: id, name: "protobuf", encode: { try envelope.serializedBytes() as [UInt8] },
            decode: { _ = try ProtoEnvelope(serializedBytes: $0) }, count: \.count)
    }
}
