import MeshBase
import MeshSimulatedWatch

/// Kills both apps during a workout, and launches one of them without a store while the other stays dead. That app must
/// show the newest state that the dead one published in time. Runs in virtual time on one thread. The seed determines
/// the run completely.
@available(macOS 15.0, iOS 18.0, watchOS 11.0, tvOS 18.0, visionOS 2.0, *)
public struct ColdLaunchSimulation: SeedSimulation {
    /// Maximum number of seconds until a device has published a change and the system has transferred it.
    public var publishingSeconds = 7.0
    /// The time from the launch until the state must be shown.
    public var patience: Duration = .seconds(3)

    public init() {}

    public func run(seed: UInt64, trace: Trace?) -> SeedOutcome {
        SimulationThread.run { [self] thread in
            ColdLaunchRun(self, seed: seed, thread: thread, traceLimit: trace == nil ? 0 : 100_000).outcome(trace)
        }
    }
}

@available(macOS 15.0, iOS 18.0, watchOS 11.0, tvOS 18.0, visionOS 2.0, *)
private final class ColdLaunchRun: PairRun<SessionWatchApp> {
    private let simulation: ColdLaunchSimulation
    private let ledger = Locked(TapLedger())
    private var tapCount: UInt32 = 0
    /// The taps that the dying device showed after each of its own taps. Other devices' taps don't make it publish.
    private var shown: [(at: Duration, taps: Set<UInt32>)] = []
    /// The device that stays dead. The other one is launched again.
    private let dying: Int
    /// The number of taps that the launched app shows in the end.
    private var coldTaps = 0

    init(_ simulation: ColdLaunchSimulation, seed: UInt64, thread: SimulationThread, traceLimit: Int) {
        self.simulation = simulation
        dying = Int(seed % 2)
        super.init(seed: seed, thread: thread, traceLimit: traceLimit)
        install { [failure] launch in
            try SessionWatchApp(launch, store: nil, versions: .equal, failure: failure, suspicious: Locked([]))
        }
    }

    override func count(_ outcome: inout SeedOutcome) {
        outcome.counts = ["taps": Int(tapCount), "shown": coldTaps]
    }

    override func play() -> String? {
        for device in devices { device.launch() }
        advance(by: .seconds(5))
        let end = pair.elapsed + .milliseconds(Int64(random.upTo(60_000)))
        // One tap in ten seconds, or several a second.
        let rate = random.happens(rate: 0.5) ? 0.002 : 0.06
        while pair.elapsed < end {
            let tapped = random.happens(rate: rate) ? tap() : nil
            advance(by: Self.step)
            if tapped == dying { shown.append((pair.elapsed, taps(of: dying))) }
        }
        // The dying device stays dead for the rest of the seed. It is out of reach, so no message wakes it.
        note("kill", dying, for: .seconds(110)) { devices[dying].kill() }
        pair.watch.isInRange = false
        advance(by: .milliseconds(Int64(random.upTo(2000))))
        let absence = Duration.milliseconds(Int64(random.upTo(60_000)))
        note("kill", 1 - dying, for: absence) { devices[1 - dying].kill() }
        advance(by: absence + Self.step)
        return lookAfterLaunch(publishedBy: end - .seconds(simulation.publishingSeconds))
    }

    private func lookAfterLaunch(publishedBy end: Duration) -> String? {
        let published = shown.last { $0.at <= end }?.taps ?? []
        var cold: Set<UInt32> = []
        let start = pair.elapsed
        while pair.elapsed - start < simulation.patience {
            advance(by: Self.step)
            cold = taps(of: 1 - dying)
            if let failure = failure.withLock({ $0 }) { return failure }
        }
        coldTaps = cold.count
        let missing = published.subtracting(cold).sorted()
        return missing.isEmpty ? nil : "taps \(missing) of \(published.count) aren't shown after the launch"
    }

    private func tap() -> Int {
        tapCount += 1
        let device = Int(random.upTo(1))
        apps.withLock { $0[device] }?.tap(tapCount, ledger: ledger, timers: nil)
        thread.runAll()
        return device
    }

    private func taps(of device: Int) -> Set<UInt32> {
        let state = Locked<[UInt32]>([])
        apps.withLock { $0[device] }?.look { taps in state.withLock { $0 = taps } }
        thread.runAll()
        return Set(state.withLock { $0 })
    }
}
