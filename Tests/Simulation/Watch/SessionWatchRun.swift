import MeshBase
import MeshEngine
import MeshFoundation
import MeshSimulatedWatch
import MeshStorage
import MeshTransport

/// One seed of a `SessionWatchSimulation`.
@available(macOS 15.0, iOS 18.0, watchOS 11.0, tvOS 18.0, visionOS 2.0, *)
final class SessionWatchRun: PairRun<SessionWatchApp> {
    private let simulation: SessionWatchSimulation
    private var tapCount: UInt32 = 0
    /// Devices whose apps have a store.
    private let keepers: Set<Int>
    private let versions: SessionWatchFeature.Versions
    /// Devices that have reported that the other device's state differs.
    private let suspicious = Locked<Set<Int>>([])
    private let ledger = Locked(TapLedger())
    private let timers = Locked(TimerLedger())
    /// Separate random numbers, so that clocks don't change the rest of a seed.
    private var clockRandom: SplitMix64
    /// Separate random numbers, so that urgent taps don't change the rest of a seed.
    private var wakeRandom: SplitMix64
    private var urgentCount = 0
    private var nextTimerCheck = Duration.zero
    /// The time at which the power fails.
    private var cut: Duration?
    private var isRecovered = false

    /// The 60 s for which a newcomer waits (rule 19 of Docs/Internals/Convergence.md), and time to join.
    private static let foundingPatience = Duration.seconds(75)

    init(_ simulation: SessionWatchSimulation, seed: UInt64, thread: SimulationThread, traceLimit: Int) {
        self.simulation = simulation
        versions = SessionWatchFeature.Versions(seed: seed)
        clockRandom = SplitMix64(seed: ~seed)
        wakeRandom = SplitMix64(seed: seed ^ 0x5741_4B45)
        // With power cuts the phone always has a store: events that both devices lose are gone.
        keepers = seed % 3 > 0 ? [0, 1] : simulation.losesPower ? [0] : []
        super.init(seed: seed, thread: thread, traceLimit: traceLimit)
        let losesPower = simulation.losesPower
        install { [keepers, ledger] device in
            if losesPower { ledger.withLock { $0.crash(of: device) } }
            if !keepers.contains(device) { ledger.withLock { $0.loseStore(of: device) } }
        } make: { [keepers, timers, versions, failure, suspicious] launch in
            timers.withLock { $0.noteLaunch(of: launch.device) }
            return try SessionWatchApp(
                launch, store: keepers.contains(launch.device) ? launch.disk : nil, versions: versions,
                failure: failure, suspicious: suspicious)
        }
    }

    override func count(_ outcome: inout SeedOutcome) {
        outcome.counts = [
            "taps": Int(tapCount), "timerReadings": timers.withLock { $0.readingCount }, "urgentTaps": urgentCount,
            "wakes": pair.statistics.complicationTransfers,
        ]
        outcome.greatest = ["slowestSeconds": equalAfter / .seconds(1)]
    }

    override func play() -> String? {
        pair.watch.isComplicationEnabled = wakeRandom.happens(rate: 0.8)
        for device in devices { device.launch() }
        advance(by: .milliseconds(Int64(random.upTo(3000))))
        while tapCount < simulation.taps, failure.withLock({ $0 == nil }) {
            causeFaults()
            if random.happens(rate: 0.02) { tap() }
            advance(by: Self.step)
        }
        isRecovered = true
        heal()
        if random.happens(rate: 0.5) {
            advance(by: .milliseconds(Int64(random.upTo(500))))
            tap()
        }
        // Taps past the next milestone, because copies and relaunches may have hidden earlier differences.
        if versions != .equal { tapOften() }
        return settle()
    }

    private func tapOften() {
        let end = tapCount + 2 * UInt32(ConfirmationChain.interval)
        while tapCount < end {
            tap()
            advance(by: .milliseconds(100))
        }
    }

    private func settle() -> String? {
        let start = pair.elapsed
        // Without stores, both devices may have started over. If they hear late of their former group, they wait for it
        // (rule 19) before they found a new one.
        while pair.elapsed - start < simulation.patience || hasNewcomer && pair.elapsed - start < Self.foundingPatience
        {
            advance(by: Self.step)
            if let failure = failure.withLock({ $0 }) { return failure }
            if difference != nil { equalAfter = pair.elapsed - start }
        }
        if pair.statistics.complicationTransfers > min(urgentCount, 50) {
            return "\(pair.statistics.complicationTransfers) wakes for \(urgentCount) urgent taps"
        }
        if clocksDiffer ?? false { return "the clocks differ \(pair.elapsed - start) after the last tap" }
        return difference.map { "\($0) \(pair.elapsed - start) after the last tap" }
    }

    /// True if a device isn't a member of a group.
    private var hasNewcomer: Bool {
        let found = Locked(false)
        for app in apps.withLock({ $0 }) { app?.lookForNewcomer { found.withLock { $0 = true } } }
        thread.runAll()
        return found.withLock { $0 }
    }

    override func maybeCutPower() {
        if simulation.losesPower, !isRecovered, isCutDue { cutPower() }
    }

    override func stepHasPassed() {
        for app in apps.withLock({ $0 }) { app?.noteTaps(in: ledger) }
        thread.runAll()
        setClocks()
    }

    /// Taps on a device in the foreground.
    private func tap() {
        let seen = devices.indices.filter { devices[$0].state == .foreground }
        guard !seen.isEmpty else { return }
        let count = simulation.losesPower && random.happens(rate: 0.1) ? 10 + random.upTo(50) : 1
        // A relaunched device may have another clock. Until the two have exchanged messages, a tap's time follows the
        // old one.
        let timers = clocksDiffer == false ? timers : nil
        for _ in 0..<count {
            let index = seen[Int(random.upTo(UInt64(seen.count - 1)))]
            tapCount += 1
            let isUrgent = wakeRandom.happens(rate: 0.3)
            if isUrgent { urgentCount += 1 }
            apps.withLock { $0[index] }?
                .tap(tapCount, ledger: ledger, timers: timers, urgency: isUrgent ? .wake : .normal)
        }
        thread.runAll()
    }

    /// The first difference from the expected state, or nil.
    private var difference: String? {
        let states = Locked<[Int: [UInt32]]>([:])
        for (index, app) in apps.withLock({ $0 }).enumerated() {
            app?.look { state in states.withLock { $0[index] = state } }
        }
        thread.runAll()
        let (phone, watch) = states.withLock { ($0[0], $0[1]) }
        guard let phone, let watch else { return "no session" }
        let suspicious = suspicious.withLock { $0 }
        guard versions == .equal else {
            let expected: Set<Int> = versions == .differ ? [0, 1] : []
            guard suspicious != expected else { return nil }
            return "devices \(suspicious.sorted()) of \(expected.sorted()) report that states differ"
        }
        guard suspicious.isEmpty else { return "devices \(suspicious.sorted()) report that states differ" }
        guard phone == watch else { return "the phone shows \(phone) and the watch \(watch)" }
        return keepers.isEmpty ? nil : ledger.withLock { $0.fault(in: phone) }
    }

    // MARK: Clocks

    /// Sets a device's wall clock about once in ten virtual seconds. Timers must not show the change.
    private func setClocks() {
        if clockRandom.happens(rate: 0.002) {
            let seconds = Double(clockRandom.upTo(7_200_000)) / 1000 - 3_600
            note("clock set") { aheadSeconds[Int(clockRandom.upTo(1))].withLock { $0 = seconds } }
            checkTimers()
        }
        guard nextTimerCheck <= pair.elapsed else { return }
        nextTimerCheck = pair.elapsed + .seconds(1)
        checkTimers()
    }

    private func checkTimers() {
        for app in apps.withLock({ $0 }) { app?.checkTimers(timers) }
        thread.runAll()
    }

    /// True if the two session clocks differ by more than their stated errors; nil if one of them states none.
    private var clocksDiffer: Bool? {
        let clocks = Locked<[(moment: Date, error: TimeInterval)]>([])
        for app in apps.withLock({ $0 }) {
            app?.lookAtClock { moment, error in clocks.withLock { $0.append((moment, error)) } }
        }
        thread.runAll()
        let (shown, stated) = clocks.withLock { clocks in
            (clocks.map(\.moment), clocks.reduce(0) { $0 + $1.error })
        }
        guard shown.count == 2 else { return nil }
        return abs(shown[0].timeIntervalSince(shown[1])) > stated + 1e-4
    }

    // MARK: Faults

    /// Injects about one fault in two virtual seconds, on a device that isn't away.
    private func causeFaults() {
        guard random.happens(rate: 0.01) else { return }
        if simulation.losesPower, random.happens(rate: 0.4) { return causeFaultOfPower() }
        let index = Int(random.upTo(1))
        let device = devices[index]
        guard returns[index] == nil else { return }
        let time = Duration.milliseconds(Int64(20 + random.upTo(random.happens(rate: 0.7) ? 700 : 5000)))
        switch random.upTo(9) {
        case 0...5: note("background", index, for: time) { device.enterBackground() }
        case 6, 7: note("suspension", index, for: time) { device.suspend() }
        default: note("kill", index, for: time) { device.kill() }
        }
    }

    private func causeFaultOfPower() {
        let index = Int(random.upTo(1))
        let disk = disks.withLock { $0[index] }
        switch random.upTo(9) {
        case 0...3:
            guard meeting == nil else { return }
            moveApart(for: .milliseconds(Int64(200 + random.upTo(15_000))))
        case 4...6: disk.prepare(.isCutShort(isWritten: random.happens(rate: 0.5)))
        case 7, 8: note("refused commit") { disk.prepare(.isRefused) }
        default: loseStore(index)
        }
    }

    private var isCutDue: Bool { cut.map { $0 <= pair.elapsed } ?? random.happens(rate: 0.003) }

    /// Cuts the power in the middle of the app's work, and sometimes again before the app has recovered.
    private func cutPower() {
        thread.run(rounds: Int(random.upTo(12)))
        disks.withLock { $0[Int(random.upTo(1))].turnOff() }
        cut = random.happens(rate: 0.5) ? pair.elapsed + .milliseconds(Int64(100 + random.upTo(4000))) : nil
    }

    /// Loses a store, at most once per seed: events that both devices lose are gone.
    private func loseStore(_ index: Int) {
        guard !hasLostStore, keepers.count == 2, returns[index] == nil else { return }
        hasLostStore = true
        let time = Duration.milliseconds(Int64(20 + random.upTo(3000)))
        replaceStore(of: index, with: StoreContents(), as: "lost store", for: time)
        ledger.withLock { $0.loseStore(of: index) }
    }
}
