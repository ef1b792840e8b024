import MeshResume

/// Clients of a stream, two gateway processes and one store in virtual time: connections drop on one side or on both, frames
/// get lost, apps and gateways are killed, the store is down, slow, empty, or behind what it has said.
///
/// Every app sees every event of its user's once and in order from where it began, and begins anew only where the store has
/// lost something since. Everything follows from the seed.
public struct ResumeSimulation: Sendable {
    /// Faults that it must find.
    public static let mutationNames = ["keepsEpoch", "ignoresFence", "skipsGaps", "replayMovesNothing"]

    private let faults: ResumeRun.Faults

    /// - Parameters:
    ///   - clients: in each seed, of a tenth as many users, and of three at least.
    ///   - mutation: one of `mutationNames`.
    public init(clients: Int = 6, losesStore: Bool = true, mutation: String? = nil) {
        var faults = ResumeRun.Faults()
        faults.clients = max(1, clients)
        faults.losesBuffer = losesStore
        faults.keepsEpoch = mutation == "keepsEpoch"
        faults.ignoresFence = mutation == "ignoresFence"
        if mutation == "skipsGaps" { faults.clientMutations = [.skipsGaps] }
        if mutation == "replayMovesNothing" { faults.clientMutations = [.replayMovesNothing] }
        self.faults = faults
    }

    /// - Parameter progress: is told after each seed.
    public func run(
        _ seeds: Range<UInt64>, stopsAtFailure: Bool = false, progress: (ResumeReport) -> Void = { _ in }
    ) -> ResumeReport {
        ResumeReport().adding(seeds, stopsAtFailure: stopsAtFailure, progress: progress) { report, seed in
            let start = ContinuousClock.now
            var run = ResumeRun(seed: seed, faults)
            if let complaint = run.run() { report.failures.append(SeedFailure(seed: seed, reason: complaint)) }
            report.seeds += 1
            report.seen += run.clients.reduce(0) { $0 + $1.seenCount }
            report.connections += run.keyCount
            report.faults.merge(run.faultCounts, uniquingKeysWith: +)
            report.simulatedSeconds += Double(run.now) / 1e9
            report.wallSeconds += start.duration(to: .now) / .seconds(1)
        }
    }
}

/// What became of many seeds of a `ResumeSimulation`.
public struct ResumeReport: SeedReport {
    public internal(set) var seeds = 0
    public internal(set) var failures: [SeedFailure] = []
    /// Events that apps saw, and connections that they made, all together.
    public internal(set) var seen = 0
    public internal(set) var connections = 0
    public internal(set) var faults: [String: Int] = [:]
    public internal(set) var simulatedSeconds = 0.0
    public internal(set) var wallSeconds = 0.0
}
