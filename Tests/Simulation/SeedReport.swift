/// What became of many seeds of a simulation.
public protocol SeedReport: Sendable, Encodable {
    var seeds: Int { get }
    var failures: [SeedFailure] { get }
    /// How often each fault was played.
    var faults: [String: Int] { get }
    var simulatedSeconds: Double { get }
    var wallSeconds: Double { get }
}

extension SeedReport {
    /// Plays seed after seed, each of which `play` adds to the report.
    /// - Parameters:
    ///   - stopsAtFailure: at the first seed that fails.
    ///   - progress: is told after each seed.
    func adding(
        _ seeds: Range<UInt64>, stopsAtFailure: Bool, progress: (Self) -> Void, _ play: (inout Self, UInt64) -> Void
    ) -> Self {
        var report = self
        for seed in seeds {
            play(&report, seed)
            progress(report)
            if stopsAtFailure, !report.failures.isEmpty { break }
        }
        return report
    }
}

/// A seed of which not everything held.
public struct SeedFailure: Sendable, Encodable {
    public let seed: UInt64
    public let reason: String
}
