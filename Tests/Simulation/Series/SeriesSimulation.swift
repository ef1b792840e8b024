/// Devices record series and tell each other over a bad network, on one thread: messages are lost, doubled and overtaken; devices are
/// apart; commits are refused, or the power goes in one; apps die between any two steps; stores are lost, or come back as they
/// were before.
///
/// At any time each device holds of each series what its recorder recorded, in order and without a gap. When all is calm, all hold
/// all that any store still has. Everything follows from the seed.
public struct SeriesSimulation: Sendable {
    public var steps: Int

    public init(steps: Int = 120) { self.steps = steps }

    /// - Parameter progress: is told after each seed.
    public func run(
        _ seeds: Range<UInt64>, stopsAtFailure: Bool = false, progress: (SeriesReport) -> Void = { _ in }
    ) -> SeriesReport {
        SeriesReport().adding(seeds, stopsAtFailure: stopsAtFailure, progress: progress) { report, seed in
            let start = ContinuousClock.now
            var run = SeriesRun(seed: seed, steps: steps)
            do {
                try run.play()
            } catch {
                report.failures.append(SeedFailure(seed: seed, reason: "\(error)"))
            }
            report.seeds += 1
            report.samples += run.sampleCount
            report.faults.merge(run.faults, uniquingKeysWith: +)
            report.wallSeconds += start.duration(to: .now) / .seconds(1)
        }
    }
}

/// What became of many seeds of a `SeriesSimulation`.
public struct SeriesReport: SeedReport {
    public internal(set) var seeds = 0
    public internal(set) var failures: [SeedFailure] = []
    /// Recorded, all devices together.
    public internal(set) var samples = 0
    public internal(set) var faults: [String: Int] = [:]
    /// Nothing here waits for a clock.
    public let simulatedSeconds = 0.0
    public internal(set) var wallSeconds = 0.0
}
