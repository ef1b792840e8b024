public import MeshBus
public import MeshDelivery
public import MeshIdentity
public import MeshTransport
public import MeshWire

/// The conformance rules for transports, and functions that run them on a transport or a link.
///
/// ```swift
/// let report = await TransportConformance.examine(fixture, as: "transport.mine")
/// #expect(report.failures == [])
/// ```
public enum TransportConformance {
    /// Every rule, in the order in which reports list them.
    public static let rules: [ConformanceRule<TransportBench>] =
        deliveryRules + snapshotRules + addressRules + lifecycleRules + reconnectionRules + pressureRules
        + hostilityRules + extrasRules + crowdRules + relaunchRules + linkRules

    /// Checks a transport against each rule, with a new pair for each.
    ///
    /// - Parameters:
    ///   - codec: the codec for payloads, if the transport encodes any.
    ///   - rules: by default all rules.
    ///   - limit: maximum real time of a rule. Only a rule that hangs takes longer. It has failed.
    public static func examine(
        _ fixture: TransportFixture, as plugin: PluginID, codec: any PayloadCodec = CompactCodec(),
        rules: [ConformanceRule<TransportBench>] = rules, limit: Duration = .seconds(600)
    ) async -> ConformanceReport {
        await examine(fixture, over: nil, as: plugin, codec: codec, rules: rules, limit: limit)
    }

    /// Checks a link, and `LinkTransport`s over it, against each rule, with new links for each.
    ///
    /// - Parameters:
    ///   - codec: the transports' codec for payloads.
    ///   - rules: by default all rules.
    ///   - limit: maximum real time of a rule. Only a rule that hangs takes longer. It has failed.
    public static func examine(
        _ fixture: LinkFixture, as plugin: PluginID, codec: any PayloadCodec = CompactCodec(),
        rules: [ConformanceRule<TransportBench>] = rules, limit: Duration = .seconds(600)
    ) async -> ConformanceReport {
        await examine(fixture.transports(), over: fixture, as: plugin, codec: codec, rules: rules, limit: limit)
    }

    package static func examine(
        _ fixture: TransportFixture, over links: LinkFixture?, as plugin: PluginID, codec: any PayloadCodec,
        rules: [ConformanceRule<TransportBench>], limit: Duration = .seconds(600)
    ) async -> ConformanceReport {
        var rows: [ConformanceReport.Row] = []
        for rule in rules {
            let verdict = await withDeadline(limit) { await judge(fixture, over: links, by: rule, codec: codec) }
            let (outcome, detail) = verdict ?? (.failed, "the rule didn't end within \(limit)")
            rows.append(.init(plugin: plugin, rule: rule.id, summary: rule.summary, outcome: outcome, detail: detail))
        }
        return ConformanceReport(rows: rows)
    }

    private static func judge(
        _ fixture: TransportFixture, over links: LinkFixture?, by rule: ConformanceRule<TransportBench>,
        codec: any PayloadCodec
    ) async -> (ConformanceReport.Outcome, String) {
        do {
            let pair = try await fixture.makePair(codec)
            let bench = TransportBench(pair: pair, patience: fixture.patience, links: links)
            if let exemption = rule.exemption(bench) {
                await bench.closeAll()
                return (.skipped, exemption)
            }
            do {
                try await rule.check(bench)
            } catch {
                await bench.closeAll()
                throw error
            }
            await bench.closeAll()
            return (.passed, "")
        } catch {
            return (.failed, "\(error)")
        }
    }
}
