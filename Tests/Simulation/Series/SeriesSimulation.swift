/// Devices record series and tell each other over a bad network, on one thread: messages are lost, doubled and overtaken; devices are
/// apart; commits are refused, or the power goes in one; apps die between any two steps; stores are lost, or come back as they
/// were before.
///
/// At any time each device holds of each series what its recorder recorded, in order and without a gap. When all is calm, all hold
/// all that any store still has. Everything follows from the seed.
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
