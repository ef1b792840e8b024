import MeshBrokenRules

extension Simulation {
    /// True if this build can break rules (`Tests/BrokenRules/overlay`).
    public static var canBreakRules: Bool { BrokenRules.areThere }

    /// Names of the engine mutations that some seed detects, in the order of `EngineMutation`. Empty if this build
    /// can't break rules. Leaves out `relaunchForgets`: it affects only callers whose launches have no incarnation, and
    /// no setting has such callers. RelaunchTests covers it.
    public static var mutationNames: [String] {
        guard canBreakRules else { return [] }
        return EngineMutation.allCases.map(\.rawValue)
            .filter { $0 != EngineMutation.relaunchForgets.rawValue && !sessionMutationNames.contains($0) }
            .filter { !covered.contains($0) }
    }

    /// Names of engine mutations that thousands of seeds don't detect. Tests with manually written schedules detect
    /// them.
    public static var coveredMutationNames: [String] { canBreakRules ? covered : [] }

    /// Names of mutations of session rules. `SessionWatchSimulation` detects them, in runs with power failures.
    public static var sessionMutationNames: [String] {
        canBreakRules
            ? ["copyOfAnother", "statesUncompared", "reducesOriginal", "wallClockCounts"] : []
    }
}

extension Simulation {
    /// Returns the setting in which seeds detect a mutation.
    public static func setting(for mutation: String) -> SimulationSetting {
        switch mutation {
        case "unboundedNumbers", "strangersHeard", "anyStamp", "refusedShown", "ownUncounted": .liars
        case "duplicateWhenShown", "baseRefused", "incarnationsOmitted", "carriedOnce": .original
        case "foldsReference": .late
        case "additionOnHearsay", "deafProposes", "malformedMembership", "voidByHearsay": .hub
        case "sourcesKept": .incarnations
        case _ where ofMembership.contains(mutation): .membership
        default: .ordinary
        }
    }

    /// True if seeds detect the mutation only if all peers are devices of one user.
    public static func isOwn(for mutation: String) -> Bool { mutation == "ownUncounted" }

    /// Returns the first of a few seeds of which one detects the mutation; nil for mutations that many seeds detect.
    public static func knownSeed(for mutation: String) -> UInt64? {
        switch mutation {
        case "refusedShown": 261_127_102_551_000_885
        case "deafProposes": 261_127_090_755_000_380
        case "incarnationsOmitted": 261_127_123_744_001_964
        default: nil
        }
    }

    /// Mutations of the rules by which members join and are removed.
    private static let ofMembership =
        coveredOfMembership + [
            "noFreeze", "minorityDecides", "quarantineLifted", "noQuarantine", "unequalClose", "closeWithoutAll",
            "closedHeard", "voteUnpersisted", "viewGoesBack", "relayRefused", "fenceUnheard",
        ]

    private static let coveredOfMembership = [
        "newerViewCounts", "forgetsAccepted", "relayByQuarantined", "reissueByOthers", "loneStays",
        "originForgotten", "acceptedUncounted",
    ]

    private static let covered = coveredOfMembership + ["tokensKept", "lateRoundTrip"]

    /// True if the mutation makes the process trap.
    public static func traps(with mutation: String) -> Bool { mutation == "unboundedNumbers" }
}

extension SimulationOptions {
    var brokenRule: EngineMutation? { mutation.flatMap(EngineMutation.init(rawValue:)) }
}
