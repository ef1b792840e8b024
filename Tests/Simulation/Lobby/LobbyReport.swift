/// What became of many seeds of a `LobbySimulation`.
public struct LobbyReport: SeedReport {
    public private(set) var seeds = 0
    public private(set) var failures: [SeedFailure] = []
    /// Seeds and failing ones, by how many devices they have.
    public private(set) var seedsByDevices: [Int: Int] = [:]
    public private(set) var failuresByDevices: [Int: Int] = [:]
    public private(set) var taps = 0
    public private(set) var faults: [String: Int] = [:]
    public private(set) var slowestSeconds = 0.0
    public private(set) var simulatedSeconds = 0.0
    public private(set) var wallSeconds = 0.0

    @available(macOS 15.0, iOS 18.0, watchOS 11.0, tvOS 18.0, visionOS 2.0, *)
    fileprivate mutating func add(_ report: LobbySimulation.Report) {
        seeds += 1
        seedsByDevices[report.devices, default: 0] += 1
        if let reason = report.failure {
            failures.append(.init(seed: report.seed, reason: reason))
            failuresByDevices[report.devices, default: 0] += 1
        }
        taps += Int(report.taps)
        faults.merge(report.faults, uniquingKeysWith: +)
        slowestSeconds = max(slowestSeconds, report.agreedAfterSeconds)
        simulatedSeconds += report.simulatedSeconds
        wallSeconds += report.wallSeconds
    }
}

@available(macOS 15.0, iOS 18.0, watchOS 11.0, tvOS 18.0, visionOS 2.0, *)
extension LobbySimulation {
    /// - Parameters:
    ///   - trace: see `run(seed:trace:)`.
    ///   - stopsAtFailure: at the first seed that fails.
    ///   - progress: is told after each seed.
    public func run(
        _ seeds: Range<UInt64>, trace: ((String) -> Void)? = nil, stopsAtFailure: Bool = false,
        progress: (LobbyReport) -> Void = { _ in }
    ) -> LobbyReport {
        LobbyReport().adding(seeds, stopsAtFailure: stopsAtFailure, progress: progress) { report, seed in
            report.add(run(seed: seed, trace: trace))
        }
    }
}
