/// The result of one seed of engines.
struct WorldOutcome: Sendable {
    let seed: UInt64
    /// The first invariant that broke; nil if all held.
    var failure: String?
    /// The reason why the two apps of the setting `original` may differ or lack a tap in the end; nil unless they do.
    /// This isn't a failure.
    var unequal: String?
    var operations = 0
    /// Frames that engines handled.
    var frames = 0
    /// Events that were inserted below the newest one.
    var rollbacks = 0
    var deepestRollback = 0
    /// Snapshots that engines applied, and copies that they adopted.
    var snapshots = 0
    /// Sources of peers that had another source before.
    var reincarnations = 0
    var forks = 0
    var confirmed = 0
    /// Accepted events that existed only in lost stores.
    var lostWithStores = 0
    /// Accepted events that are missing, or in the order twice, because a store was restored.
    var lostByForks = 0
    var doubledByForks = 0
    /// Local events rejected because too many were unconfirmed.
    var refused = 0
    var simulatedMilliseconds = 0
    var faults = FaultCounts()
    /// Changes of groups, in settings whose members change.
    var membership = MembershipCounts()

    init(seed: UInt64) { self.seed = seed }
}

/// The membership changes of groups.
struct MembershipCounts: Sendable {
    /// Views that members have decided on, not counting the first of each group.
    var views = 0
    /// Members that were removed and know it.
    var fences = 0
    /// Members that are in a group for the first time.
    var joins = 0
    /// Removed members that have returned.
    var returns = 0
    /// Members that came back after they had lost their stores.
    var replacements = 0
    /// Frames in which a member relayed events of other peers.
    var relays = 0
    /// Lowest members that stopped or lost their stores.
    var primariesLost = 0
    /// Groups that lost every member that could continue them.
    var groupsLost = 0
}

extension SeedOutcome {
    init(_ outcome: WorldOutcome, _ stores: SimulatedStores, _ setting: SimulationSetting) {
        self.init(seed: outcome.seed, failure: outcome.failure)
        faults = Dictionary(uniqueKeysWithValues: FaultKind.kinds(with: stores, in: setting).map { ($0.name, 0) })
        for kind in FaultKind.allCases where outcome.faults[kind] > 0 { faults[kind.name] = outcome.faults[kind] }
        counts = [
            "operations": outcome.operations, "frames": outcome.frames, "rollbacks": outcome.rollbacks,
            "snapshots": outcome.snapshots, "reincarnations": outcome.reincarnations, "forks": outcome.forks,
            "confirmed": outcome.confirmed, "lostWithStores": outcome.lostWithStores,
            "lostByForks": outcome.lostByForks, "doubledByForks": outcome.doubledByForks, "refused": outcome.refused,
        ]
        greatest = ["deepestRollback": Double(outcome.deepestRollback)]
        tables["unequal"] = outcome.unequal.map { [$0: 1] } ?? [:]
        let membership = outcome.membership
        if setting == .membership || setting == .hub {
            tables["company"] = [
                "views": membership.views, "fences": membership.fences, "joins": membership.joins,
                "returns": membership.returns,
                "replacements": membership.replacements, "relays": membership.relays,
                "primariesLost": membership.primariesLost, "groupsLost": membership.groupsLost,
            ]
        }
        simulatedSeconds = Double(outcome.simulatedMilliseconds) / 1_000
    }
}
