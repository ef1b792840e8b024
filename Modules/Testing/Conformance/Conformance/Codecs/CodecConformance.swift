public import MeshBus
public import MeshIdentity

/// The conformance rules for codecs, and a function that runs them.
///
/// ```swift
/// let report = await CodecConformance.examine(MyCodec(), as: "codec.mine")
/// #expect(report.failures == [])
/// ```
public enum CodecConformance {
    /// Every rule, in the order in which reports list them.
    public static let rules: [ConformanceRule<CodecBench>] = valueRules + versionRules + hostilityRules

    /// Checks a codec against each rule.
    ///
    /// - Parameters:
    ///   - rules: by default all rules.
    ///   - limit: maximum real time of a rule. A rule that takes longer has failed.
    public static func examine(
        _ codec: any PayloadCodec, as plugin: PluginID, rules: [ConformanceRule<CodecBench>] = rules,
        limit: Duration = .seconds(600)
    ) async -> ConformanceReport {
        let bench = CodecBench(codec: codec)
        var rows: [ConformanceReport.Row] = []
        for rule in rules {
            if let exemption = rule.exemption(bench) {
                rows.append(
                    .init(plugin: plugin, rule: rule.id, summary: rule.summary, outcome: .skipped, detail: exemption))
                continue
            }
            let failure = await withDeadline(limit) { () -> String? in
                do {
                    try await rule.check(bench)
                    return nil
                } catch {
                    return "\(error)"
                }
            }
            let detail = failure ?? "the rule didn't end within \(limit)"
            rows.append(
                .init(
                    plugin: plugin, rule: rule.id, summary: rule.summary, outcome: detail == nil ? .passed : .failed,
                    detail: detail ?? ""))
        }
        return ConformanceReport(rows: rows)
    }
}

/// The tools with which a rule checks a codec.
public struct CodecBench: Sendable {
    /// The codec under examination.
    public let codec: any PayloadCodec

    /// Creates a bench for a codec.
    public init(codec: any PayloadCodec) { self.codec = codec }

    /// Encodes a value, and returns the copy that is decoded from the bytes.
    public func travelled<Value: Codable>(_ value: Value) throws -> Value {
        try codec.decode(Value.self, from: codec.encode(value))
    }

    /// Requires that a value survives a round trip.
    ///
    /// - Throws: ``ConformanceFailure``, or an error of the codec.
    public func requireSurvives<Value: Codable & Equatable>(_ value: Value) throws {
        try requireEqual(travelled(value), value, "\(Value.self) after a round trip")
    }

    /// Encodes a value of one version of a type and decodes it as another version.
    public func skewed<Old: Encodable, New: Decodable>(_ value: Old, as type: New.Type) throws -> New {
        try codec.decode(New.self, from: codec.encode(value))
    }
}
