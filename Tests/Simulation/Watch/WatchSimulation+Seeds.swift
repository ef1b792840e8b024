/// What became of many seeds of a `WatchSimulation`.
public struct WatchSimulationReport: SeedReport {
    public private(set) var seeds = 0
    public private(set) var failures: [SeedFailure] = []
    public private(set) var envelopes: UInt64 = 0
    public private(set) var delivered: UInt64 = 0
    public private(set) var offeredAgain: UInt64 = 0
    public private(set) var messages = 0
    public private(set) var userInfos = 0
    public private(set) var contexts = 0
    public private(set) var faults: [String: Int] = [:]
    public private(set) var simulatedSeconds = 0.0
    public private(set) var wallSeconds = 0.0

    @available(macOS 15.0, iOS 18.0, watchOS 11.0, tvOS 18.0, visionOS 2.0, *)
    fileprivate mutating func add(_ report: WatchSimulation.Report) {
        seeds += 1
        if let reason = report.failure { failures.append(SeedFailure(seed: report.seed, reason: reason)) }
        envelopes += report.envelopes
        delivered += report.delivered
        offeredAgain += report.offeredAgain
        messages += report.messages
        userInfos += report.userInfos
        contexts += report.contexts
        faults.merge(report.faults, uniquingKeysWith: +)
        simulatedSeconds += report.simulatedSeconds
        wallSeconds += report.wallSeconds
    }
}

@available(macOS 15.0, iOS 18.0, watchOS 11.0, tvOS 18.0, visionOS 2.0, *)
extension WatchSimulation {
    /// - Parameters:
    ///   - trace: see `run(seed:trace:)`.
    ///   - progress: is told after each seed.
    public func run(
        _ seeds: Range<UInt64>, trace: ((String) -> Void)? = nil, progress: (WatchSimulationReport) -> Void = { _ in }
    ) -> WatchSimulationReport {
        var report = WatchSimulationReport()
        for seed in seeds {
            report.add(run(seed: seed, trace: trace))
            progress(report)
        }
        return report
    }
}
