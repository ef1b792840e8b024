/// An executable model of views: how a group of members goes on without one that is away, and takes it in again.
///
/// The engine has no part in it. Devices are values that follow the rules of `CompanyMember`, over a network that loses,
/// doubles, delays and lets overtake. They crash, lose their stores, are away, suspect each other, propose at the same time,
/// and come back. Checked are, by the names that failures bear:
///
/// - P1: confirmed streams are prefixes of one another;
/// - P2: what a device accepted and did not lose is confirmed everywhere in the end;
/// - P3: nothing is there twice;
/// - P4: no number is given to two views, unless the user had two sides go on without each other;
/// - P5: every device can be tapped at any time;
/// - P6: who hear each other come to hold the same, whoever is away;
/// - P7: every device is a member in the end.
///
/// ``run(_:stopsAtFailure:progress:)`` draws whole lives from seeds; ``search(_:progress:)`` visits every state of a few
/// members.
public struct CompanySimulation: Sendable {
    /// Of the first view: 2 to 16.
    public var members: Int
    public var mutations: Set<CompanyMutation>

    public init(members: Int, breaking mutations: Set<CompanyMutation> = []) {
        precondition((2...16).contains(members), "a group has 2 to 16 members")
        self.members = members
        self.mutations = mutations
    }

    /// - Parameters:
    ///   - trace: is told every step.
    ///   - progress: is told after each seed.
    public func run(
        _ seeds: Range<UInt64>, stopsAtFailure: Bool = false, trace: (@Sendable (String) -> Void)? = nil,
        progress: (CompanyReport) -> Void = { _ in }
    ) -> CompanyReport {
        var report = CompanyReport(members: members)
        for seed in seeds {
            let start = ContinuousClock.now
            var run = CompanyRun(seed: seed, members: members, breaking: mutations)
            run.trace = trace
            do {
                try run.play()
            } catch {
                report.failures.append(SeedFailure(seed: seed, reason: error.description))
            }
            report.seeds += 1
            report.accepted += run.accepted.count
            report.confirmed += run.ledger.confirmedCount
            report.faults.merge(run.counts, uniquingKeysWith: +)
            report.wallSeconds += start.duration(to: .now) / .seconds(1)
            progress(report)
            if stopsAtFailure, !report.failures.isEmpty { break }
        }
        return report
    }

    /// - Parameter progress: is told after each depth.
    public static func search(
        _ bounds: CompanyBounds, breaking mutations: Set<CompanyMutation> = [],
        progress: (CompanySearchReport) -> Void = { _ in }
    ) -> CompanySearchReport {
        var search = CompanySearch(bounds, breaking: mutations)
        search.run(progress: progress)
        return search.report
    }
}

/// What became of many seeds of a `CompanySimulation`.
public struct CompanyReport: SeedReport {
    public let members: Int
    public internal(set) var seeds = 0
    public internal(set) var failures: [SeedFailure] = []
    /// Taps that a device has persisted.
    public internal(set) var accepted = 0
    public internal(set) var confirmed = 0
    public internal(set) var faults: [String: Int] = [:]
    /// Nothing here waits for a clock.
    public let simulatedSeconds = 0.0
    public internal(set) var wallSeconds = 0.0
}
