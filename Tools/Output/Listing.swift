package import MeshBenchmarks
package import MeshBus

extension [PluginDescriptor] {
    /// Every limit once, smallest first.
    package var payloadLimits: [PayloadLimit] {
        Set(flatMap(\.limits)).sorted { ($0.bytes, $0.id) < ($1.bytes, $1.id) }
    }
}

extension BenchmarkRow {
    /// The row with the name of its case in front.
    package func labelled(_ benchmark: String) -> BenchmarkRow {
        BenchmarkRow(fields: [Field(name: "benchmark", value: .text(benchmark))] + fields)
    }

    /// Without that name.
    package var unlabelled: BenchmarkRow { BenchmarkRow(fields: Array(fields.dropFirst())) }
}

extension Sequence {
    /// Separated by commas, for people.
    package var list: String { map { "\($0)" }.joined(separator: ", ") }
}
