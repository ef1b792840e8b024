import MeshBrokenRules

/// Clients of a stream, two gateway processes and one store in virtual time: connections drop on one side or on both, frames
/// get lost, apps fail to process events, apps and gateways are killed, the store is down, slow, empty, or behind what it has said.
///
/// Every app sees every event of its user's once and in order from where it began, and begins anew only where the store has
/// lost something since. Everything follows from the seed.
public struct ResumeSimulation: SeedSimulation {
    /// Faults that it must find.
    public static let mutationNames =
        Simulation.canBreakRules
        ? ["keepsEpoch", "ignoresFence", "skipsGaps", "replayMovesNothing", "dropsUnprocessed"] : []

    private let faults: ResumeRun.Faults
    private let brokenRule: ResumeMutation?

    /// - Parameters:
    ///   - clients: in each seed, of a tenth as many users, and of three at least.
    ///   - mutation: one of `mutationNames`.
    public init(clients: Int = 6, losesStore: Bool = true, mutation: String? = nil) {
        var faults = ResumeRun.Faults()
        faults.clients = max(1, clients)
        faults.losesBuffer = losesStore
        faults.keepsEpoch = mutation == "keepsEpoch"
        faults.ignoresFence = mutation == "ignoresFence"
        self.faults = faults
        brokenRule = mutation.flatMap(ResumeMutation.init(rawValue:))
    }

    /// Counts events that apps saw, and connections that they made, all together.
    public func run(seed: UInt64, trace: Trace?) -> SeedOutcome {
        var run = ResumeRun(seed: seed, faults)
        var outcome = SeedOutcome(seed: seed, failure: breaking(brokenRule) { run.run() })
        outcome.faults = run.faultCounts
        outcome.counts = ["seen": run.clients.reduce(0) { $0 + $1.seenCount }, "connections": run.keyCount]
        outcome.simulatedSeconds = Double(run.now) / 1e9
        return outcome
    }
}
