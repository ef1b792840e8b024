extension CompanySimulation {
    /// Rules that are broken together, and whether a run must fail then.
    public struct Trial: Sendable {
        public let mutations: [CompanyMutation]
        public let isExpectedToShow: Bool

        public var name: String { mutations.map(\.name).joined(separator: " ") }
    }

    /// Every rule alone; then without freezing and floors, which is a simpler protocol; then with the one rule broken, too,
    /// that makes these two superfluous.
    public static var trials: [Trial] {
        CompanyMutation.allCases.map { Trial(mutations: [$0], isExpectedToShow: $0.isExpectedToShow) } + [
            Trial(mutations: [.noFreeze, .noFloor], isExpectedToShow: false),
            Trial(mutations: [.noFreeze, .noFloor, .newerHoldingCounts], isExpectedToShow: true),
        ]
    }

    /// What became of a trial.
    public struct Finding: Sendable, Encodable {
        public let mutation: String
        public let isExpectedToShow: Bool
        public let isCaught: Bool
        /// Members of the first view where it was caught.
        public internal(set) var members: Int?
        /// The first seed that failed.
        public internal(set) var seed: UInt64?
        /// The number of steps after which the search found it.
        public internal(set) var depth: Int?
        public internal(set) var reason: String?
        /// How many states a search saw.
        public internal(set) var states: Int?

        public var isAsExpected: Bool { isCaught == isExpectedToShow }
    }

    /// Where a broken rule shows among few members, in the fewest states known.
    public static func bounds(for mutation: CompanyMutation) -> CompanyBounds {
        switch mutation {
        case .noFreeze, .freezeForgotten, .floorEarly, .floorLowest, .noFloor, .newerHoldingCounts, .olderViewIgnored,
            .floorless:
            var bounds = CompanyBounds(members: 2, taps: 2, ballots: 1)
            (bounds.newcomers, bounds.ticks) = (1, 3)
            bounds.crashes = mutation == .freezeForgotten ? 1 : 0
            return bounds
        case .newerViewCounts:
            var bounds = CompanyBounds(members: 3, taps: 2, ballots: 1)
            bounds.newcomers = 1
            return bounds
        case .voteUnpersisted:
            var bounds = CompanyBounds(members: 3, taps: 0, ballots: 2)
            bounds.crashes = 1
            return bounds
        case .noMajority, .forgetsAccepted: return CompanyBounds(members: 3, taps: 0, ballots: 2)
        case .quarantineLifted: return CompanyBounds(members: 3, taps: 1, ballots: 3)
        default: return CompanyBounds(members: 3, taps: 2, ballots: 1)
        }
    }

    /// Draws these seeds for three, five and two members, then searches.
    public static func finding(
        of trial: Trial, within seeds: Range<UInt64>, progress: (String) -> Void = { _ in }
    ) -> Finding {
        let mutations = Set(trial.mutations)
        for members in [3, 5, 2] {
            let simulation = CompanySimulation(members: members, breaking: mutations)
            let report = simulation.run(
                seeds, stopsAtFailure: true,
                progress: { progress("\(trial.name), \(members) members: \($0.seeds) seeds") })
            guard let failure = report.failures.first else { continue }
            return Finding(
                mutation: trial.name, isExpectedToShow: trial.isExpectedToShow, isCaught: true, members: members,
                seed: failure.seed, reason: failure.reason)
        }
        let report = search(
            bounds(for: trial.mutations[0]), breaking: mutations,
            progress: { progress("\(trial.name): \($0.states) states, depth \($0.depth)") })
        return Finding(
            mutation: trial.name, isExpectedToShow: trial.isExpectedToShow, isCaught: report.violation != nil,
            members: report.violation.map { _ in report.bounds.members }, depth: report.violation?.steps.count,
            reason: report.violation?.reason, states: report.states)
    }

    /// What a search visits by default: three members over two taps and one ballot, one tap and two ballots, and two members
    /// that take in a third.
    public static var searches: [CompanyBounds] {
        var joining = CompanyBounds(members: 2, taps: 2, ballots: 2)
        (joining.newcomers, joining.ticks) = (1, 1)
        var reborn = CompanyBounds(members: 3, taps: 1, ballots: 1)
        reborn.losses = 1
        return [
            CompanyBounds(members: 3, taps: 2, ballots: 1), CompanyBounds(members: 3, taps: 1, ballots: 2), joining,
            reborn,
        ]
    }
}
