import MeshBase
import MeshSimulatedWatch

/// Taps on a phone and its watch that share a session, over whole transports and WatchConnectivity's stand-in, in virtual
/// time and on one thread. Apps go to the background for a moment, are suspended, and are killed and launched anew.
///
/// Somebody sets a device's clock now and then, by up to an hour either way. Every timer that a tap has begun shows the time that
/// has passed, to within the error that its reading states.
///
/// Ten seconds after the last tap with both apps in the foreground, the states are equal; where apps have stores, they
/// hold every tap once. Everything follows from the seed.
///
/// Events lose a field when they are encoded, which must not show. In one seed of sixteen the watch's app reduces otherwise:
/// then both devices have to say so within ten seconds of the next 64 taps; in another one the apps also state different
/// versions of their reducers, and nothing is said. In all others nothing may be said.
///
/// With `losesPower` taps come in bursts, also while the devices are out of each other's reach; commits are refused; the
/// power goes during one, or while what came late is being reduced or a copy arrives; and in a few seeds a store is lost.
/// Then what the stores had taken is shown once, and what had not been written is or is not.
@available(macOS 15.0, iOS 18.0, watchOS 11.0, tvOS 18.0, visionOS 2.0, *)
public struct SessionWatchSimulation: Sendable {
    /// On both devices.
    public var taps: UInt32
    /// From the last tap on, or from when both are in the foreground.
    public var patience: Duration = .seconds(10)
    public let losesPower: Bool
    /// The name of a rule to break on purpose.
    public var mutation: String?

    /// - Parameter taps: 30, or 300 where the power goes.
    public init(taps: UInt32? = nil, losesPower: Bool = false) {
        self.taps = taps ?? (losesPower ? 300 : 30)
        self.losesPower = losesPower
    }

    /// What became of one seed.
    public struct Report: Sendable, Encodable {
        public let seed: UInt64
        /// What went wrong; nil when nothing did.
        public let failure: String?
        public let taps: UInt32
        /// Readings of timers that stated their error, and were right.
        public let timerReadings: Int
        /// By kind.
        public let faults: [String: Int]
        /// How long after the last tap the states were equal.
        public let equalAfterSeconds: Double
        public let simulatedSeconds: Double
        public let wallSeconds: Double
    }

    /// - Parameter trace: is told of everything that happens on the devices, if the run fails.
    public func run(seed: UInt64, trace: ((String) -> Void)? = nil) -> Report {
        let traceLimit = trace == nil ? 0 : 100_000
        let (report, account) = SimulationThread.run { [self] thread in
            let start = ContinuousClock.now
            let run = SessionWatchRun(self, seed: seed, thread: thread, traceLimit: traceLimit)
            let failure = run.play()
            let report = Report(
                seed: seed, failure: failure, taps: run.tapCount, timerReadings: run.timerReadingCount,
                faults: run.faults,
                equalAfterSeconds: run.equalAfter / .seconds(1),
                simulatedSeconds: run.pair.elapsed / .seconds(1), wallSeconds: start.duration(to: .now) / .seconds(1))
            return (report, failure == nil ? "" : run.pair.report)
        }
        if report.failure != nil { trace?(account) }
        return report
    }
}

/// What became of many seeds of a `SessionWatchSimulation`.
public struct SessionWatchReport: SeedReport {
    public private(set) var seeds = 0
    public private(set) var failures: [SeedFailure] = []
    public private(set) var taps = 0
    public private(set) var timerReadings = 0
    public private(set) var faults: [String: Int] = [:]
    public private(set) var slowestSeconds = 0.0
    public private(set) var simulatedSeconds = 0.0
    public private(set) var wallSeconds = 0.0

    @available(macOS 15.0, iOS 18.0, watchOS 11.0, tvOS 18.0, visionOS 2.0, *)
    fileprivate mutating func add(_ report: SessionWatchSimulation.Report) {
        seeds += 1
        if let reason = report.failure { failures.append(.init(seed: report.seed, reason: reason)) }
        taps += Int(report.taps)
        timerReadings += report.timerReadings
        faults.merge(report.faults, uniquingKeysWith: +)
        slowestSeconds = max(slowestSeconds, report.equalAfterSeconds)
        simulatedSeconds += report.simulatedSeconds
        wallSeconds += report.wallSeconds
    }
}

@available(macOS 15.0, iOS 18.0, watchOS 11.0, tvOS 18.0, visionOS 2.0, *)
extension SessionWatchSimulation {
    /// - Parameters:
    ///   - trace: see `run(seed:trace:)`.
    ///   - stopsAtFailure: at the first seed that fails.
    ///   - progress: is told after each seed.
    public func run(
        _ seeds: Range<UInt64>, trace: ((String) -> Void)? = nil, stopsAtFailure: Bool = false,
        progress: (SessionWatchReport) -> Void = { _ in }
    ) -> SessionWatchReport {
        SessionWatchReport().adding(seeds, stopsAtFailure: stopsAtFailure, progress: progress) { report, seed in
            report.add(run(seed: seed, trace: trace))
        }
    }
}
