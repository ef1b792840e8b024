/// What one seed came to.
public struct SeedOutcome: Sendable {
    public let seed: UInt64
    /// The first thing that must never happen and did; nil when all held.
    public internal(set) var failure: String?
    /// Why apps that keep nothing and use the reference's calls show different states, or lack a tap, where not every event has
    /// arrived; nil when they don't.
    public internal(set) var unequal: String?
    public internal(set) var operations = 0
    /// Frames that an engine handled.
    public internal(set) var frames = 0
    /// Inserts below the newest event.
    public internal(set) var rollbacks = 0
    public internal(set) var deepestRollback = 0
    /// Snapshots and copies that an engine took.
    public internal(set) var snapshots = 0
    /// New stores of a peer that had one before.
    public internal(set) var reincarnations = 0
    public internal(set) var forks = 0
    public internal(set) var confirmed = 0
    /// Accepted events that existed only in stores that were lost.
    public internal(set) var lostWithStores = 0
    /// Accepted events that are lost, or in the order twice, because a store was restored.
    public internal(set) var lostByForks = 0
    public internal(set) var doubledByForks = 0
    /// Local events refused because too many were unconfirmed.
    public internal(set) var refused = 0
    public internal(set) var simulatedMilliseconds = 0
    var faults = FaultCounts()
    /// Of groups whose members change.
    public internal(set) var company = CompanyCounts()

    init(seed: UInt64) { self.seed = seed }
}

/// How groups changed.
public struct CompanyCounts: Sendable, Encodable, Equatable {
    /// That members have decided on, beside the first of each group.
    public internal(set) var views = 0
    /// Members that the others have let go and that have heard of it.
    public internal(set) var fences = 0
    /// Members that are in a group for the first time.
    public internal(set) var joins = 0
    /// Members that were let go and are there again.
    public internal(set) var returns = 0
    /// Members that came back without their stores.
    public internal(set) var replacements = 0
    /// Frames with events of others.
    public internal(set) var relays = 0
    /// Lowest members that stopped or lost their stores.
    public internal(set) var primariesLost = 0
    /// Groups of which nobody is left who could go on with them.
    public internal(set) var groupsLost = 0

    static func += (left: inout Self, right: Self) {
        left.views += right.views
        left.fences += right.fences
        left.joins += right.joins
        left.returns += right.returns
        left.replacements += right.replacements
        left.relays += right.relays
        left.primariesLost += right.primariesLost
        left.groupsLost += right.groupsLost
    }
}

/// What many seeds came to.
public struct SimulationReport: Sendable, Encodable {
    public struct Failure: Sendable, Encodable {
        public let seed: UInt64
        public let reason: String
    }

    public private(set) var seeds = 0
    public private(set) var failures: [Failure] = []
    /// Seeds by the cause of `SeedOutcome.unequal`.
    public private(set) var unequal: [String: Int] = [:]
    public private(set) var operations = 0
    public private(set) var frames = 0
    /// By kind: how often it happened.
    public private(set) var faults: [String: Int]
    /// By kind: in how many seeds it happened.
    public private(set) var faultSeeds: [String: Int]
    public private(set) var rollbacks = 0
    public private(set) var deepestRollback = 0
    public private(set) var snapshots = 0
    public private(set) var reincarnations = 0
    public private(set) var forks = 0
    public private(set) var confirmed = 0
    public private(set) var lostWithStores = 0
    public private(set) var lostByForks = 0
    public private(set) var doubledByForks = 0
    public private(set) var refused = 0
    /// nil in other settings.
    public private(set) var company: CompanyCounts?
    public private(set) var simulatedSeconds = 0.0
    public internal(set) var wallSeconds = 0.0

    init(_ stores: SimulatedStores, _ setting: SimulationSetting) {
        faults = Dictionary(uniqueKeysWithValues: FaultKind.kinds(with: stores, in: setting).map { ($0.name, 0) })
        faultSeeds = faults
        if setting == .company || setting == .hub { company = CompanyCounts() }
    }

    mutating func add(_ outcome: SeedOutcome) {
        seeds += 1
        if let reason = outcome.failure { failures.append(Failure(seed: outcome.seed, reason: reason)) }
        if let cause = outcome.unequal { unequal[cause, default: 0] += 1 }
        operations += outcome.operations
        frames += outcome.frames
        rollbacks += outcome.rollbacks
        deepestRollback = max(deepestRollback, outcome.deepestRollback)
        snapshots += outcome.snapshots
        reincarnations += outcome.reincarnations
        forks += outcome.forks
        confirmed += outcome.confirmed
        lostWithStores += outcome.lostWithStores
        lostByForks += outcome.lostByForks
        doubledByForks += outcome.doubledByForks
        refused += outcome.refused
        company? += outcome.company
        simulatedSeconds += Double(outcome.simulatedMilliseconds) / 1_000
        for kind in FaultKind.allCases where outcome.faults[kind] > 0 {
            faults[kind.name, default: 0] += outcome.faults[kind]
            faultSeeds[kind.name, default: 0] += 1
        }
    }
}
