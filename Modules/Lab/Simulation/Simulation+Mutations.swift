import MeshEngine

extension Simulation {
    /// The rules of the engine that can be broken on purpose, in the order in which the engine lists them. Not among them
    /// is one that concerns callers who give their lives no names, whom no setting has: RelaunchTests breaks it.
    public static var mutationNames: [String] {
        EngineMutations.all.map(\.name).filter { $0 != "relaunchForgets" }
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
        default: .ordinary
        }
    }

    /// Whether the broken rule ends the process.
    public static func traps(with mutation: String) -> Bool { mutation == "unboundedNumbers" }
}

extension SimulationOptions {
    var mutations: EngineMutations { EngineMutations.all.first { $0.name == mutation }?.mutation ?? [] }
}
