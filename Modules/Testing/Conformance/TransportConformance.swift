public import MeshBus
public import MeshIdentity
public import MeshTransport
public import MeshWire

/// The rules for transports, and what runs them.
///
/// ```swift
/// let report = await TransportConformance.examine(fixture, as: "transport.mine")
/// #expect(report.failures == [])
/// ```
public enum TransportConformance {
    /// Every rule, in the order in which reports list them.
    public static let rules: [ConformanceRule<TransportBench>] =
        deliveryRules + snapshotRules + addressRules + lifecycleRules

    /// Examines a transport by each rule with a fresh pair.
    ///
    /// - Parameters:
    ///   - codec: what the transport writes payloads with, if it writes any.
    ///   - rules: by default all.
    ///   - limit: real time for each rule, after which it has failed.
    public static func examine(
        _ fixture: TransportFixture, as plugin: PluginID, codec: any PayloadCodec = CompactCodec(),
        rules: [ConformanceRule<TransportBench>] = rules, limit: Duration = .seconds(60)
    ) async -> ConformanceReport {
        var rows: [ConformanceReport.Row] = []
        for rule in rules {
            let verdict = await withDeadline(limit) { await judge(fixture, by: rule, codec: codec) }
            let (outcome, detail) = verdict ?? (.failed, "the rule had not come to an end after \(limit)")
            rows.append(.init(plugin: plugin, rule: rule.id, summary: rule.summary, outcome: outcome, detail: detail))
        }
        return ConformanceReport(rows: rows)
    }

    private static func judge(
        _ fixture: TransportFixture, by rule: ConformanceRule<TransportBench>, codec: any PayloadCodec
    ) async -> (ConformanceReport.Outcome, String) {
        do {
            let pair = try await fixture.makePair(codec)
            let bench = TransportBench(pair: pair, patience: fixture.patience)
            if let exemption = rule.exemption(bench) {
                await close(pair)
                return (.skipped, exemption)
            }
            do {
                try await rule.check(bench)
            } catch {
                await close(pair)
                throw error
            }
            await close(pair)
            return (.passed, "")
        } catch {
            return (.failed, "\(error)")
        }
    }

    private static func close(_ pair: TransportPair) async {
        await pair.first.close()
        await pair.second.close()
        await pair.bystander?.close()
    }
}
