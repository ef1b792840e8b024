package import MeshBenchmarks
package import MeshBus

extension [PluginDescriptor] {
    /// All payload limits without duplicates, smallest first.
    package var payloadLimits: [PayloadLimit] {
        Set(flatMap(\.limits)).sorted { ($0.bytes, $0.id) < ($1.bytes, $1.id) }
    }
}

extension BenchmarkRow {
    /// Returns the row with the name of its case as first field.
    package func labelled(_ benchmark: String) -> BenchmarkRow {
        BenchmarkRow(fields: [Field(name: "benchmark", value: .text(benchmark))] + fields)
    }

    /// The row without the name of its case.
    package var unlabelled: BenchmarkRow { BenchmarkRow(fields: Array(fields.dropFirst())) }
}

extension Sequence {
    /// The elements separated by commas, for people.
    package var list: String { map { "\($0)" }.joined(separator: ", ") }
}
