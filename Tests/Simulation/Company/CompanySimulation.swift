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
/// ``run(seed:trace:)`` draws whole lives from seeds; ``search(_:breaking:progress:)`` visits every state of a few
/// members.
public struct CompanySimulation: SeedSimulation {
    /// Of the first view: 2 to 16.
    public var members: Int
    public var mutations: Set<CompanyMutation>

    public init(members: Int, breaking mutations: Set<CompanyMutation> = []) {
        precondition((2...16).contains(members), "a group has 2 to 16 members")
        self.members = members
        self.mutations = mutations
    }

    public static var mutationNames: [String] { CompanyMutation.allCases.map(\.name) }

    /// Counts taps that a device has persisted.
    public func run(seed: UInt64, trace: Trace?) -> SeedOutcome {
        var run = CompanyRun(seed: seed, members: members, breaking: mutations)
        run.trace = trace
        var outcome = SeedOutcome(seed: seed)
        do { try run.play() } catch { outcome.failure = error.description }
        outcome.faults = run.counts
        outcome.counts = ["accepted": run.accepted.count, "confirmed": run.ledger.confirmedCount]
        outcome.greatest = ["members": Double(members)]
        return outcome
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
