public import MeshBus

/// What came of examining one plugin.
public struct ConformanceReport: Hashable, Sendable, Codable {
    public enum Outcome: String, Hashable, Sendable, Codable {
        case passed, failed, skipped
    }

    public struct Row: Hashable, Sendable, Codable {
        public let plugin: PluginID
        /// The rule's id.
        public let rule: String
        public let summary: String
        public let outcome: Outcome
        /// Why it failed or was skipped; empty when it passed.
        public let detail: String

        public init(plugin: PluginID, rule: String, summary: String, outcome: Outcome, detail: String) {
            self.plugin = plugin
            self.rule = rule
            self.summary = summary
            self.outcome = outcome
            self.detail = detail
        }
    }

    /// In the order of the rules.
    public let rows: [Row]

    public init(rows: [Row]) { self.rows = rows }

    /// One plugin's reports in one: a rule has failed if it has failed in one of them, and is skipped if it is in all.
    /// - Parameter reports: of the same rules in the same order.
    public init(merging reports: [ConformanceReport]) {
        let rank: [Outcome: Int] = [.failed: 0, .passed: 1, .skipped: 2]
        rows = (reports.first?.rows ?? []).map { row in
            let same = reports.compactMap { $0[rule: row.rule] }
            return same.min { (rank[$0.outcome] ?? 0) < (rank[$1.outcome] ?? 0) } ?? row
        }
    }

    /// No rule failed.
    public var isConformant: Bool { !rows.contains { $0.outcome == .failed } }
    public var failures: [Row] { rows.filter { $0.outcome == .failed } }

    public subscript(rule id: String) -> Row? { rows.first { $0.rule == id } }
}

extension ConformanceReport.Row: CustomStringConvertible {
    public var description: String {
        detail.isEmpty ? "\(plugin) \(rule) \(outcome.rawValue)" : "\(plugin) \(rule) \(outcome.rawValue): \(detail)"
    }
}
