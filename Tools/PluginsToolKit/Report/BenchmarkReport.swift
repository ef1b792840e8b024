import MeshBenchmarks
import MeshBus
import MeshToolOutput

/// The report that `bench --json` prints, `bench --html` draws and `bench compare` reads.
struct BenchmarkReport: Encodable {
    struct Payload: Encodable, Equatable {
        let id: String
        let samples: Int
    }

    /// The rows of all cases. With several runs, each figure is the median.
    let rows: [BenchmarkRow]
    /// The rows of every run, in the order of `rows`; nil if there was only one run.
    let runs: [[BenchmarkRow]]?
    /// Number of runs behind `rows`.
    let runCount: Int
    let limits: [LimitRow]
    /// The payloads that consist of samples, with their number of samples.
    let payloads: [Payload]
    /// The answers to whether each payload of `codecs` fits.
    let answers: [FitAnswer]
    let setting = BenchmarkSetting(version: PluginsTool.version)

    /// - Parameters:
    ///   - runs: The labelled rows of all cases for each run. At least one run.
    ///   - limit: The limit that payloads should fit.
    /// - Throws: `ToolError` if a case returned different rows in another run.
    init(runs: [[BenchmarkRow]], bus: PluginBus, limit: PayloadLimit?) throws(ToolError) {
        precondition(!runs.isEmpty, "a report needs one run")
        let first = runs[0]
        for run in runs.dropFirst() where run.map(\.labels) != first.map(\.labels) {
            throw ToolError("a benchmark's rows differ between runs; run it without --repeat")
        }
        let rows = first.indices.map { row in BenchmarkRow(medianOf: runs.map { $0[row] }) }
        self.rows = rows
        answers = limit.map { FitAnswer.all(in: rows.of("codecs"), under: $0) } ?? []
        self.runs = runs.count > 1 ? runs.map { $0.map(\.figures) } : nil
        runCount = runs.count
        limits = LimitRow.rows(of: bus.descriptors)
        payloads = bus.contributions(to: .benchmarkPayloads).compactMap { payload in
            payload.value.samples.map { Payload(id: payload.value.id, samples: $0.count) }
        }
    }
}

extension [BenchmarkRow] {
    /// Returns the rows of one case.
    func of(_ benchmark: String) -> [BenchmarkRow] { filter { $0["benchmark"] == .text(benchmark) } }
}

extension BenchmarkRow {
    /// The text fields, which identify the row.
    fileprivate var labels: [Field] {
        fields.filter { field in
            if case .text = field.value { true } else { false }
        }
    }

    /// The fields that are plain numbers.
    fileprivate var figures: BenchmarkRow {
        BenchmarkRow(
            fields: fields.filter { field in
                switch field.value {
                case .integer, .number: true
                case .text, .flags, .integers: false
                }
            })
    }

    /// Creates a row with the median of each plain number (the upper one of two) and the first run's other values.
    fileprivate init(medianOf runs: [BenchmarkRow]) {
        self.init(
            fields: runs[0].fields.map { field in
                let values = runs.compactMap { $0[field.name] }
                return Field(name: field.name, value: Self.median(values) ?? field.value)
            })
    }

    private static func median(_ values: [BenchmarkValue]) -> BenchmarkValue? {
        func number(_ value: BenchmarkValue) -> Double? {
            switch value {
            case .integer(let integer): Double(integer)
            case .number(let number): number
            case .text, .flags, .integers: nil
            }
        }
        let figures = values.compactMap { value in number(value).map { (value, $0) } }.sorted { $0.1 < $1.1 }
        return figures.isEmpty ? nil : figures[figures.count / 2].0
    }
}
