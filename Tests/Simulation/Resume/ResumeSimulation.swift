import MeshBrokenRules

/// Clients of a stream, two gateway processes and one store in virtual time. Connections drop on one side or on both,
/// frames are lost, and apps fail to process events. Apps and gateways are killed. The store is down, slow, empty, or
/// behind its acknowledgements.
///
/// Every app must see every event of its user once and in order from where it began. It may start over only if the
/// store has lost something since. The seed determines the run completely.
public struct ResumeSimulation: SeedSimulation {
    /// Faults that the simulation must detect.
    public static let mutationNames =
        Simulation.canBreakRules
        ? ["keepsEpoch", "ignoresFence", "skipsGaps", "replayMovesNothing", "dropsUnprocessed"] : []

    private let faults: ResumeRun.Faults
    private let brokenRule: ResumeMutation?

    /// - Parameters:
    ///   - clients: The number of clients in each seed. There are a tenth as many users, and at least three.
    ///   - mutation: An element of `mutationNames`.
    public init(clients: Int = 6, losesStore: Bool = true, mutation: String? = nil) {
        var faults = ResumeRun.Faults()
        faults.clients = max(1, clients)
        faults.losesBuffer = losesStore
        faults.keepsEpoch = mutation == "keepsEpoch"
        faults.ignoresFence = mutation == "ignoresFence"
        self.faults = faults
        brokenRule = mutation.flatMap(ResumeMutation.init(rawValue:))
    }

    /// Counts events that apps saw, and connections that they made, over all apps.
    public func run(seed: UInt64, trace: Trace?) -> SeedOutcome {
        var run = ResumeRun(seed: seed, faults)
        var outcome = SeedOutcome(seed: seed, failure: breaking(brokenRule) { run.run() })
        outcome.faults = run.faultCounts
        outcome.counts = ["seen": run.clients.reduce(0) { $0 + $1.seenCount }, "connections": run.keyCount]
        outcome.simulatedSeconds = Double(run.now) / 1e9
        return outcome
    }
}
