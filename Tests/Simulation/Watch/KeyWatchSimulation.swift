import MeshBase
import MeshKeySync
import MeshSimulatedWatch

/// Keys that a phone and its watch store, over whole transports and WatchConnectivity's stand-in, in virtual time and on one
/// thread. Either app is first, or both begin at once; one is absent for days, or the devices are out of each other's reach;
/// apps are suspended, and killed and launched anew; commits are refused, and the power goes during one; an app is deleted
/// and installed again.
///
/// Soon after the last change, with both apps in the foreground, each key has on both devices what was written last, and both
/// say that it is synced; what is local or secured has not left its device; what is manual leaves when the app says so.
/// Everything follows from the seed.
@available(macOS 15.0, iOS 18.0, watchOS 11.0, tvOS 18.0, visionOS 2.0, *)
public struct KeyWatchSimulation: Sendable {
    /// Rules that it finds broken; none where none can be broken. Tests of key sync find all of these. Alone they find: `asksAlways`
    /// and `forgetsPieces`, which cost bytes and no value; `forgetsPeers`, which needs more removals than are kept and a third
    /// peer; `sameNonce`, which needs a link that drops what is as it was; `lastKeyOnly`, which healing mends; `noRecord` and
    /// `keepsAuthor`, which need more removals or other restored stores than are drawn; `recordUnasked`, which one seed in
    /// thousands finds; `repeatsUndelivered`, which costs messages. No test finds `marksAreKept` yet.
    public static let mutationNames =
        StorageRouter.canBreakRules
        ? [
            "oneWay", "noTombstones", "arrivalOrder", "largeBlocks", "silentErrors", "manualIsAutomatic",
            "onlyAppAsks", "securedLeaves", "noAnswer", "noRetry", "noWants", "recordTooSoon", "equalSetsCount",
            "looseKeysWait", reusesOutbox,
        ] : []

    /// A fault of delivery: each launch of a transport draws the same outbox.
    static let reusesOutbox = "reusesOutbox"

    /// Batches, on both devices.
    public var changes: UInt32 = 40
    /// From the last change on, or from when both are in the foreground.
    public var patience: Duration = .seconds(120)
    /// The name of a rule to break on purpose.
    public var mutation: String?

    public init() {}

    /// What became of one seed.
    public struct Report: Sendable, Encodable {
        public let seed: UInt64
        /// What went wrong; nil when nothing did.
        public let failure: String?
        public let changes: UInt32
        /// By kind.
        public let faults: [String: Int]
        /// How long after the last change all was synced.
        public let equalAfterSeconds: Double
        public let simulatedSeconds: Double
        public let wallSeconds: Double
    }

    /// - Parameter trace: is told of everything that happens on the devices, if the run fails.
    public func run(seed: UInt64, trace: ((String) -> Void)? = nil) -> Report {
        let traceLimit = trace == nil ? 0 : 100_000
        let (report, account) = SimulationThread.run { [self] thread in
            let start = ContinuousClock.now
            let run = KeyWatchRun(self, seed: seed, thread: thread, traceLimit: traceLimit)
            let failure = run.play()
            let report = Report(
                seed: seed, failure: failure, changes: run.changeCount, faults: run.faults,
                equalAfterSeconds: run.equalAfter / .seconds(1),
                simulatedSeconds: run.pair.elapsed / .seconds(1), wallSeconds: start.duration(to: .now) / .seconds(1))
            return (report, failure == nil ? "" : run.pair.report)
        }
        if report.failure != nil { trace?(account) }
        return report
    }

    /// - Parameters:
    ///   - trace: see `run(seed:trace:)`.
    ///   - stopsAtFailure: at the first seed that fails.
    ///   - progress: is told after each seed.
    public func run(
        _ seeds: Range<UInt64>, trace: ((String) -> Void)? = nil, stopsAtFailure: Bool = false,
        progress: (KeyWatchReport) -> Void = { _ in }
    ) -> KeyWatchReport {
        KeyWatchReport().adding(seeds, stopsAtFailure: stopsAtFailure, progress: progress) { report, seed in
            report.add(run(seed: seed, trace: trace))
        }
    }
}

/// What became of many seeds of a `KeyWatchSimulation`.
public struct KeyWatchReport: SeedReport {
    public private(set) var seeds = 0
    public private(set) var failures: [SeedFailure] = []
    public private(set) var changes = 0
    public private(set) var faults: [String: Int] = [:]
    public private(set) var slowestSeconds = 0.0
    public private(set) var simulatedSeconds = 0.0
    public private(set) var wallSeconds = 0.0

    @available(macOS 15.0, iOS 18.0, watchOS 11.0, tvOS 18.0, visionOS 2.0, *)
    fileprivate mutating func add(_ report: KeyWatchSimulation.Report) {
        seeds += 1
        if let reason = report.failure { failures.append(.init(seed: report.seed, reason: reason)) }
        changes += Int(report.changes)
        faults.merge(report.faults, uniquingKeysWith: +)
        slowestSeconds = max(slowestSeconds, report.equalAfterSeconds)
        simulatedSeconds += report.simulatedSeconds
        wallSeconds += report.wallSeconds
    }
}
