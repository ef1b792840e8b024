import MeshEngine

extension Simulation {
    /// Whether this build can break rules: whether its environment said `MESH_MUTATIONS=1`.
    public static var canBreakRules: Bool { EngineMutations.areCompiledIn }

    /// The rules of the engine that can be broken on purpose, in the order in which the engine lists them. Not among them
    /// is one that concerns callers who give their lives no names, whom no setting has: RelaunchTests breaks it. None where
    /// none can be broken.
    public static var mutationNames: [String] {
        guard canBreakRules else { return [] }
        return EngineMutation.allCases.map { "\($0)" }
            .filter { $0 != "\(EngineMutation.relaunchForgets)" && !sessionMutationNames.contains($0) }
            .filter { !ofCompany.contains($0) }
    }

    /// The rules by which members join and are let go: some seeds fail in that setting with every rule in force, so that a
    /// seed that fails proves nothing yet.
    public static var companyMutationNames: [String] { canBreakRules ? ofCompany : [] }

    /// The rules of sessions: `SessionWatchSimulation` finds them broken where the power goes.
    public static var sessionMutationNames: [String] {
        canBreakRules ? ["\(EngineMutation.copyOfAnother)"] : []
    }
}

extension Simulation {
    /// Where a broken rule shows.
    public static func setting(for mutation: String) -> SimulationSetting {
        switch mutation {
        case "unboundedNumbers", "strangersHeard", "anyStamp": .liars
        case "duplicateWhenShown": .original
        case "foldsReference": .late
        case "sourcesKept": .lives
        case _ where ofCompany.contains(mutation): .company
        default: .ordinary
        }
    }

    /// The rules by which members join and are let go.
    static let ofCompany = [
        "noFreeze", "newerViewCounts", "floorEarly", "minorityDecides", "forgetsAccepted", "quarantineLifted",
        "noQuarantine", "unequalClose", "closeWithoutAll", "closedHeard", "relayByQuarantined", "voteUnpersisted",
        "reissueByOthers", "viewGoesBack", "relayRefused", "fenceUnheard",
    ]

    /// Whether the broken rule ends the process.
    public static func traps(with mutation: String) -> Bool { mutation == "unboundedNumbers" }
}

extension SimulationOptions {
    var mutations: EngineMutations { mutation.flatMap(EngineMutation.init(name:)).map { [$0] } ?? [] }
}
