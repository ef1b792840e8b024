/// A simulation that a seed determines completely.
public protocol SeedSimulation: Sendable {
    typealias Trace = @Sendable (String) -> Void

    /// Names of rules that the simulation can break on purpose to make seeds fail. Empty if the build can't break any.
    static var mutationNames: [String] { get }

    /// - Parameter trace: Called with each step, or with the full log at the end if the seed fails.
    func run(seed: UInt64, trace: Trace?) -> SeedOutcome
}

extension SeedSimulation {
    public static var mutationNames: [String] { [] }

    public func run(seed: UInt64) -> SeedOutcome { run(seed: seed, trace: nil) }

    /// Runs seed after seed.
    /// - Parameters:
    ///   - stopsAtFailure: Stops at the first seed that fails.
    ///   - progress: Called after each seed.
    public func run(
        _ seeds: Range<UInt64>, stopsAtFailure: Bool = false, trace: Trace? = nil,
        progress: (SeedReport) -> Void = { _ in }
    ) -> SeedReport {
        let start = ContinuousClock.now
        var report = SeedReport()
        for seed in seeds {
            TrapNotice.willRun(seed)
            report.add(run(seed: seed, trace: trace))
            report.wallSeconds = start.duration(to: .now) / .seconds(1)
            progress(report)
            if stopsAtFailure, !report.failures.isEmpty { break }
        }
        return report
    }
}

/// The result of one seed.
public struct SeedOutcome: Sendable {
    public let seed: UInt64
    /// The first invariant that broke; nil if all held.
    public internal(set) var failure: String?
    /// Numbers of faults by kind, including users' actions.
    public internal(set) var faults: [String: Int] = [:]
    /// Numbers that a report adds up, by name.
    public internal(set) var counts: [String: Int] = [:]
    /// Numbers of which a report keeps the greatest, by name.
    public internal(set) var greatest: [String: Double] = [:]
    /// Tables by name, each with counts by kind.
    public internal(set) var tables: [String: [String: Int]] = [:]
    public internal(set) var simulatedSeconds = 0.0
}

/// The result of many seeds.
public struct SeedReport: Sendable, Encodable {
    public struct Failure: Sendable, Encodable {
        public let seed: UInt64
        public let reason: String
    }

    public private(set) var seeds = 0
    public private(set) var failures: [Failure] = []
    public private(set) var counts: [String: Int] = [:]
    public private(set) var greatest: [String: Double] = [:]
    public private(set) var tables: [String: [String: Int]] = [:]
    public private(set) var simulatedSeconds = 0.0
    public fileprivate(set) var wallSeconds = 0.0

    /// The number of times that each kind of fault happened.
    public var faults: [String: Int] { tables["faults"] ?? [:] }
    /// The number of seeds in which each kind of fault happened.
    public var faultSeeds: [String: Int] { tables["faultSeeds"] ?? [:] }

    fileprivate mutating func add(_ outcome: SeedOutcome) {
        seeds += 1
        if let reason = outcome.failure { failures.append(Failure(seed: outcome.seed, reason: reason)) }
        counts.merge(outcome.counts, uniquingKeysWith: +)
        greatest.merge(outcome.greatest, uniquingKeysWith: max)
        var added = outcome.tables
        added["faults"] = outcome.faults
        added["faultSeeds"] = outcome.faults.mapValues { min($0, 1) }
        for (name, table) in added { tables[name, default: [:]].merge(table, uniquingKeysWith: +) }
        simulatedSeconds += outcome.simulatedSeconds
    }

    private enum CodingKeys: CodingKey { case seeds, failures, simulatedSeconds, wallSeconds }

    /// Encodes every count under its own key.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(seeds, forKey: .seeds)
        try container.encode(failures, forKey: .failures)
        try container.encode(simulatedSeconds, forKey: .simulatedSeconds)
        try container.encode(wallSeconds, forKey: .wallSeconds)
        try counts.encode(to: encoder)
        try greatest.encode(to: encoder)
        try tables.encode(to: encoder)
    }
}
