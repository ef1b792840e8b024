import MeshBrokenRules

extension Simulation {
    /// True if this build can break rules (`Tests/BrokenRules/overlay`).
    public static var canBreakRules: Bool { BrokenRules.areThere }

    /// Names of the engine's rules whose breaking some seed detects, in the engine's order. Leaves out the rule for
    /// callers that don't name their launches: no setting has such callers, so RelaunchTests covers it. Empty if this
    /// build can't break rules.
    public static var mutationNames: [String] {
        guard canBreakRules else { return [] }
        return EngineMutation.allCases.map(\.rawValue)
            .filter { $0 != EngineMutation.relaunchForgets.rawValue && !sessionMutationNames.contains($0) }
            .filter { !covered.contains($0) }
    }

    /// Names of rules whose breaking survives thousands of seeds. Tests with manually written schedules detect it.
    public static var coveredMutationNames: [String] { canBreakRules ? covered : [] }

    /// Names of session rules. `SessionWatchSimulation` detects their breaking, in runs with power failures.
    public static var sessionMutationNames: [String] {
        canBreakRules
            ? ["copyOfAnother", "statesUncompared", "reducesOriginal", "wallClockCounts", "lateRoundTrip"] : []
    }
}

extension Simulation {
    /// The setting in which a broken rule shows.
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

    /// True if the rule concerns devices of one user.
    public static func isOwn(for mutation: String) -> Bool { mutation == "ownUncounted" }

    /// Returns the first of a few seeds of which one detects the broken rule; nil for rules that many seeds detect.
    public static func knownSeed(for mutation: String) -> UInt64? {
        switch mutation {
        case "refusedShown": 261_127_102_551_000_885
        case "deafProposes": 261_127_090_755_000_380
        case "incarnationsOmitted": 261_127_123_744_001_964
        case "lateRoundTrip": 2_611_262_300_000_390
        default: nil
        }
    }

    /// The rules by which members join and are removed.
    private static let ofMembership =
        coveredOfMembership + [
            "noFreeze", "minorityDecides", "quarantineLifted", "noQuarantine", "unequalClose", "closeWithoutAll",
            "closedHeard", "voteUnpersisted", "viewGoesBack", "relayRefused", "fenceUnheard",
        ]

    private static let coveredOfMembership = [
        "newerViewCounts", "forgetsAccepted", "relayByQuarantined", "reissueByOthers", "loneStays",
        "originForgotten", "acceptedUncounted",
    ]

    private static let covered = coveredOfMembership + ["tokensKept"]

    /// True if the broken rule ends the process.
    public static func traps(with mutation: String) -> Bool { mutation == "unboundedNumbers" }
}

extension SimulationOptions {
    var brokenRule: EngineMutation? { mutation.flatMap(EngineMutation.init(rawValue:)) }
}
