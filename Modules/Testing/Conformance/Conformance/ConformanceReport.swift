public import MeshBus

/// The result of running the conformance rules on one plugin.
public struct ConformanceReport: Hashable, Sendable, Codable {
    /// The outcome of one rule.
    public enum Outcome: String, Hashable, Sendable, Codable {
        /// The rule was kept, was broken, or doesn't apply to this plugin.
        case passed, failed, skipped
    }

    /// A rule and its outcome.
    public struct Row: Hashable, Sendable, Codable {
        /// The plugin under examination.
        public let plugin: PluginID
        /// The ID of the rule.
        public let rule: String
        /// The rule's requirement in one line.
        public let summary: String
        /// The outcome of the rule.
        public let outcome: Outcome
        /// The reason why the rule failed or was skipped; empty if it passed.
        public let detail: String

        /// Creates the row of one rule for one plugin.
        public init(plugin: PluginID, rule: String, summary: String, outcome: Outcome, detail: String) {
            self.plugin = plugin
            self.rule = rule
            self.summary = summary
            self.outcome = outcome
            self.detail = detail
        }
    }

    /// The rows in the order of the rules.
    public let rows: [Row]

    /// Creates a report from rows.
    public init(rows: [Row]) { self.rows = rows }

    /// Merges reports on one plugin. A rule fails if it failed in any report. It is skipped if all reports skipped it.
    /// - Parameter reports: reports on the same rules in the same order.
    public init(merging reports: [ConformanceReport]) {
        let rank: [Outcome: Int] = [.failed: 0, .passed: 1, .skipped: 2]
        rows = (reports.first?.rows ?? []).map { row in
            let same = reports.compactMap { $0[rule: row.rule] }
            return same.min { (rank[$0.outcome] ?? 0) < (rank[$1.outcome] ?? 0) } ?? row
        }
    }

    /// True if no rule has failed.
    public var isConformant: Bool { !rows.contains { $0.outcome == .failed } }
    /// The rows of rules that failed.
    public var failures: [Row] { rows.filter { $0.outcome == .failed } }

    /// Returns the row of a rule; nil if the rule wasn't examined.
    public subscript(rule id: String) -> Row? { rows.first { $0.rule == id } }
}

extension ConformanceReport.Row: CustomStringConvertible {
    public var description: String {
        detail.isEmpty ? "\(plugin) \(rule) \(outcome.rawValue)" : "\(plugin) \(rule) \(outcome.rawValue): \(detail)"
    }
}
