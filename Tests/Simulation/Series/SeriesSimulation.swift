/// Devices that record series and exchange them over a bad network, on one thread. Messages are lost, duplicated and
/// reordered, and devices are partitioned. Commits are rejected, or the power fails during one. Apps die between any
/// two steps. Stores are lost, or restored to an earlier state.
///
/// At any time each device holds a gapless range of each series, in order, as its recorder recorded it. Once all faults
/// except message loss end, all devices come to hold everything that any store still has. The seed determines the run
/// completely.
public struct SeriesSimulation: SeedSimulation {
    private let steps: Int

    public init(steps: Int = 120) { self.steps = steps }

    public func run(seed: UInt64, trace: Trace?) -> SeedOutcome {
        var run = SeriesRun(seed: seed, steps: steps)
        var outcome = SeedOutcome(seed: seed)
        do { try run.play() } catch { outcome.failure = "\(error)" }
        outcome.faults = run.faults
        outcome.counts = ["samples": run.sampleCount]
        return outcome
    }
}
