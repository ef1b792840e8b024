import Foundation

/// The figures that have changed between two reports, compared with the noise of repeated runs.
///
/// A figure has moved if the ranges of the two reports' runs don't overlap. With five runs each, an unchanged figure moves by
/// chance in 2 of 252 cases. A figure that can't vary (a flag, a count by limit) has moved if it differs. If a report has
/// only one run, noise is unknown.
struct BenchmarkComparison {
    enum Verdict: String, Encodable {
        case better, worse
        /// The figure moved, and its name doesn't say which direction is better.
        case moved
        /// The figure differs by no more than repeated runs do.
        case noise
        /// The figure differs, but without repeated runs the noise is unknown.
        case unknown
    }

    struct Change: Encodable, Equatable {
        /// Name of the row, such as `codecs: compact, track`.
        let row: String
        let figure: String
        let before: Double
        let after: Double
        /// Change in percent; nil if the value before was 0.
        let changePercent: Double?
        /// Spread of the runs of one report in percent, the larger of the two reports; nil without repeated runs.
        let noisePercent: Double?
        let verdict: Verdict
    }

    /// The figures that differ, in the row order of the first report.
    let changes: [Change]
    /// Number of figures that both reports have.
    let comparedCount: Int
    /// The rows that only one of the reports has.
    let onlyBefore: [String]
    let onlyAfter: [String]

    init(_ before: RecordedReport, _ after: RecordedReport) {
        let earlier = before.series
        let later = after.series
        let laterByName = Dictionary(later.map { ($0.name, $0) }) { first, _ in first }
        var changes: [Change] = []
        var comparedCount = 0
        for row in earlier {
            guard let other = laterByName[row.name] else { continue }
            for (figure, values) in row.figures.sorted(by: { $0.key < $1.key }) {
                guard let others = other.figures[figure] else { continue }
                comparedCount += 1
                let isExact = row.exact.contains(figure)
                if let change = Self.change(row.name, figure, values, others, isExact: isExact) {
                    changes.append(change)
                }
            }
        }
        self.changes = changes
        self.comparedCount = comparedCount
        let names = Set(earlier.map(\.name))
        onlyBefore = earlier.map(\.name).filter { laterByName[$0] == nil }
        onlyAfter = later.map(\.name).filter { !names.contains($0) }
    }

    private static func change(
        _ row: String, _ figure: String, _ before: [Double], _ after: [Double], isExact: Bool
    ) -> Change? {
        let (earlier, later) = (before.median, after.median)
        guard earlier != later else { return nil }
        let isRepeated = before.count > 1 && after.count > 1
        let isApart = before.largest < after.smallest || after.largest < before.smallest
        let verdict: Verdict =
            if !isExact, !isRepeated {
                .unknown
            } else if isExact || isApart {
                direction(of: figure).map { ($0 == .less) == (later < earlier) ? .better : .worse } ?? .moved
            } else {
                .noise
            }
        return Change(
            row: row, figure: figure, before: earlier, after: later,
            changePercent: earlier == 0 ? nil : (later - earlier) / abs(earlier) * 100,
            noisePercent: isRepeated ? max(before.spreadPercent, after.spreadPercent) : nil, verdict: verdict)
    }

    private enum Direction { case less, more }

    /// Derives the better direction from the unit at the end of the name.
    private static func direction(of figure: String) -> Direction? {
        let name = figure.split(separator: ".").first.map(String.init) ?? figure
        if name.hasSuffix("PerSecond") || name.contains("Vs")
            || ["capacity", "fits", "updatesPerContext"].contains(name)
        {
            return .more
        }
        let costs = [
            "seconds", "bytes", "wakeups", "persample", "frames", "messages", "bursts200ms", "bursts2s", "writes",
        ]
        return costs.contains { name.lowercased().hasSuffix($0) } ? .less : nil
    }
}

extension RecordedReport {
    /// A row, with the values of all runs.
    fileprivate struct Series {
        let name: String
        let figures: [String: [Double]]
        let exact: Set<String>
    }

    fileprivate var series: [Series] {
        var counts: [String: Int] = [:]
        return rows.enumerated().map { index, row in
            let name = row.name
            counts[name, default: 0] += 1
            let count = counts[name, default: 1]
            var figures = row.figures.mapValues { [$0] }
            for (figure, _) in row.figures {
                let values = (runs ?? []).compactMap { $0[index].figures[figure] }
                if !values.isEmpty { figures[figure] = values }
            }
            return Series(name: count == 1 ? name : "\(name) #\(count)", figures: figures, exact: row.exact)
        }
    }
}

extension RecordedReport.Row {
    /// The subject of the row: the benchmark, then its labels in the order of their field names.
    fileprivate var name: String {
        let benchmark = labels["benchmark"] ?? ""
        let others = labels.filter { $0.key != "benchmark" }.sorted { $0.key < $1.key }.map(\.value)
        return others.isEmpty ? benchmark : "\(benchmark): \(others.joined(separator: ", "))"
    }
}

extension [Double] {
    fileprivate var smallest: Double { self.min() ?? 0 }
    fileprivate var largest: Double { self.max() ?? 0 }
    fileprivate var median: Double { isEmpty ? 0 : sorted()[count / 2] }
    fileprivate var spreadPercent: Double { median == 0 ? 0 : (largest - smallest) / abs(median) * 100 }
}
