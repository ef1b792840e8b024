import MeshBase
import MeshEngine
import MeshFoundation
import MeshSimulatedWatch
import MeshStorage

/// One seed of a `SessionWatchSimulation`.
@available(macOS 15.0, iOS 18.0, watchOS 11.0, tvOS 18.0, visionOS 2.0, *)
final class SessionWatchRun {
    let simulation: SessionWatchSimulation
    let pair: SimulatedWatchPair
    let thread: SimulationThread
    private(set) var faults: [String: Int] = [:]
    private(set) var tapCount: UInt32 = 0
    private(set) var equalAfter = Duration.zero
    /// Of each device the one that its present life has.
    private let disks: Locked<[SimulatedDisk]>
    /// Devices whose apps keep something over their lives.
    private let keepers: Set<Int>
    private let apps = Locked([SessionWatchApp?](repeating: nil, count: 2))
    private let launches = Locked<UInt64>(0)
    private let failure = Locked<String?>(nil)
    private let versions: SessionWatchFeature.Versions
    private let suspicious = Locked<Set<Int>>([])
    private let ledger = Locked(TapLedger())
    private let timers = Locked(TimerLedger())
    /// By how much each device's wall clock is ahead.
    private let aheadSeconds = [Locked(TimeInterval(0)), Locked(TimeInterval(0))]
    /// Of its own, so that clocks change nothing else.
    private var clockRandom: SplitMix64
    private var nextTimerCheck = Duration.zero
    private var random: SplitMix64
    /// When each device is to be in the foreground again.
    private var returns: [Duration?] = [nil, nil]
    /// When the devices reach each other again.
    private var meeting: Duration?
    private var hasLostStore = false
    /// When the power goes.
    private var cut: Duration?
    private var isWell = false

    private static let step = Duration.milliseconds(20)
    /// The 60 ticks of rule 19, and time to join.
    private static let foundingPatience = Duration.seconds(75)

    init(_ simulation: SessionWatchSimulation, seed: UInt64, thread: SimulationThread, traceLimit: Int) {
        self.simulation = simulation
        self.thread = thread
        random = SplitMix64(seed: seed)
        versions = SessionWatchFeature.Versions(seed: seed)
        clockRandom = SplitMix64(seed: ~seed)
        pair = SimulatedWatchPair(seed: seed, conditions: .calm, watches: 1, traceLimit: traceLimit)
        disks = Locked((0..<2).map { _ in SimulatedDisk(durability: .memory, staysOff: true) })
        // With power cuts the phone always does: what both have lost nobody has.
        keepers = seed % 3 > 0 ? [0, 1] : simulation.losesPower ? [0] : []
        for index in devices.indices { installApp(on: index, seed) }
    }

    private var devices: [SimulatedDevice] { [pair.phone, pair.watch] }

    private func installApp(on index: Int, _ seed: UInt64) {
        let device = devices[index]
        let (isKeeper, ahead) = (keepers.contains(index), aheadSeconds[index])
        let mutation = simulation.mutation
        device.onLaunch { [clock = pair.clock, apps, launches, failure, disks, timers, versions, suspicious] session in
            timers.withLock { $0.noteLaunch(of: index) }
            let launch = launches.withLock { count in
                count += 1
                return count
            }
            let disk = disks.withLock { disks in
                disks[index] = SimulatedDisk(disks[index].contents, durability: .memory, staysOff: true)
                return disks[index]
            }
            do {
                let app = try SessionWatchApp(
                    device: index, session: session, store: isKeeper ? disk : nil, versions: versions,
                    mutation: mutation,
                    clock: AppClock(clock, on: device, aheadSeconds: ahead),
                    seed: (seed &+ 1) &* 0x9E37_79B9_7F4A_7C15 ^ launch << 40 ^ launch << 17, failure: failure,
                    suspicious: suspicious)
                apps.withLock { $0[index] = app }
            } catch {
                failure.withLock { $0 = "an app could not begin: \(error)" }
            }
        }
        let losesPower = simulation.losesPower
        device.onTerminate { [apps, disks, ledger] in
            disks.withLock { $0[index].turnOff() }
            if losesPower { ledger.withLock { $0.endLife(of: index) } }
            if !isKeeper { ledger.withLock { $0.loseStore(of: index) } }
            let app = apps.withLock { apps in apps[index].take() }
            app?.die()
        }
    }

    /// - Returns: what went wrong.
    func play() -> String? {
        defer {
            for device in devices { device.kill() }
            thread.runAll()
        }
        for device in devices { device.launch() }
        advance(by: .milliseconds(Int64(random.upTo(3000))))
        while tapCount < simulation.taps, failure.withLock({ $0 == nil }) {
            causeFaults()
            if random.happens(rate: 0.02) { tap() }
            advance(by: Self.step)
        }
        isWell = true
        meet()
        for disk in disks.withLock({ $0 }) { disk.prepare(.succeeds) }
        while returns.contains(where: { $0 != nil }) { advance(by: Self.step) }
        if random.happens(rate: 0.5) {
            advance(by: .milliseconds(Int64(random.upTo(500))))
            tap()
        }
        // Beyond the next milestone, whatever copies and relaunches have evened out before.
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
        // Devices without stores that have both begun anew and hear late of their former group wait for it: rule 19.
        while pair.elapsed - start < simulation.patience || hasNewcomer && pair.elapsed - start < Self.foundingPatience
        {
            advance(by: Self.step)
            if let failure = failure.withLock({ $0 }) { return failure }
            if difference != nil { equalAfter = pair.elapsed - start }
        }
        if clocksDiffer ?? false { return "the clocks differ \(pair.elapsed - start) after the last tap" }
        return difference.map { "\($0) \(pair.elapsed - start) after the last tap" }
    }

    /// A device is in no group.
    private var hasNewcomer: Bool {
        let found = Locked(false)
        for app in apps.withLock({ $0 }) { app?.lookForNewcomer { found.withLock { $0 = true } } }
        thread.runAll()
        return found.withLock { $0 }
    }

    private func advance(by duration: Duration) {
        let end = pair.elapsed + duration
        while pair.elapsed < end {
            if let meeting, meeting <= pair.elapsed { meet() }
            for index in devices.indices {
                if let time = returns[index], time <= pair.elapsed {
                    returns[index] = nil
                    devices[index].launch()
                }
            }
            thread.runAll()
            for app in apps.withLock({ $0 }) { app?.clock.goOn() }
            pair.advance(by: min(Self.step, end - pair.elapsed))
            if simulation.losesPower, !isWell, isCutDue { cutPower() }
            thread.runAll()
            for index in devices.indices { endWithoutPower(index) }
            for app in apps.withLock({ $0 }) { app?.noteTaps(in: ledger) }
            thread.runAll()
            setClocks()
        }
    }

    /// On a device that is looked at.
    private func tap() {
        let seen = devices.indices.filter { devices[$0].state == .foreground }
        guard !seen.isEmpty else { return }
        let count = simulation.losesPower && random.happens(rate: 0.1) ? 10 + random.upTo(50) : 1
        // Where a device that was launched with another clock has not been heard yet, a tap has its moment by the old one.
        let timers = clocksDiffer == false ? timers : nil
        for _ in 0..<count {
            let index = seen[Int(random.upTo(UInt64(seen.count - 1)))]
            tapCount += 1
            apps.withLock { $0[index] }?.tap(tapCount, ledger: ledger, timers: timers)
        }
        thread.runAll()
    }

    /// What is not as it should be; nil when nothing is.
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
            return suspicious == expected ? nil : "devices \(suspicious) of \(expected) say that states differ"
        }
        guard suspicious.isEmpty else { return "devices \(suspicious) say that states differ" }
        guard phone == watch else { return "the phone shows \(phone) and the watch \(watch)" }
        return keepers.isEmpty ? nil : ledger.withLock { $0.fault(in: phone) }
    }

    // MARK: Clocks

    /// Sets a device's clock about once in ten seconds. No timer shows it.
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

    /// Whether the session's clock is another one on the two devices than they say; nil while one of them says nothing.
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

    var timerReadingCount: Int { timers.withLock { $0.readingCount } }

    // MARK: Faults

    /// About one in two seconds, on a device that has none.
    private func causeFaults() {
        guard random.happens(rate: 0.01) else { return }
        if simulation.losesPower, random.happens(rate: 0.4) { return causeFaultOfPower() }
        let index = Int(random.upTo(1))
        let device = devices[index]
        guard returns[index] == nil else { return }
        let time = Duration.milliseconds(Int64(20 + random.upTo(random.happens(rate: 0.7) ? 700 : 5000)))
        switch random.upTo(9) {
        case 0...5: note("background") { device.enterBackground() }
        case 6, 7: note("suspension") { device.suspend() }
        default: note("kill") { device.kill() }
        }
        returns[index] = pair.elapsed + time
    }

    private func causeFaultOfPower() {
        let index = Int(random.upTo(1))
        let disk = disks.withLock { $0[index] }
        switch random.upTo(9) {
        case 0...3:
            guard meeting == nil else { return }
            note("apart") { pair.watch.isInRange = false }
            meeting = pair.elapsed + .milliseconds(Int64(200 + random.upTo(15_000)))
        case 4...6: disk.prepare(.isCutShort(isWritten: random.happens(rate: 0.5)))
        case 7, 8: note("refused commit") { disk.prepare(.isRefused) }
        default: loseStore(index)
        }
    }

    private func meet() {
        meeting = nil
        pair.watch.isInRange = true
    }

    private var isCutDue: Bool { cut.map { $0 <= pair.elapsed } ?? random.happens(rate: 0.003) }

    /// In the midst of whatever the app was about to do; and sometimes once more, before it has what it lacks.
    private func cutPower() {
        thread.run(rounds: Int(random.upTo(12)))
        disks.withLock { $0[Int(random.upTo(1))].turnOff() }
        cut = random.happens(rate: 0.5) ? pair.elapsed + .milliseconds(Int64(100 + random.upTo(4000))) : nil
    }

    private func endWithoutPower(_ index: Int) {
        guard returns[index] == nil, disks.withLock({ $0[index].isOff }) else { return }
        note("power cut") { devices[index].kill() }
        returns[index] = pair.elapsed + .milliseconds(Int64(20 + random.upTo(3000)))
    }

    /// Once at most: what both have lost nobody has.
    private func loseStore(_ index: Int) {
        guard !hasLostStore, keepers.count == 2, returns[index] == nil else { return }
        hasLostStore = true
        note("lost store") { devices[index].kill() }
        disks.withLock { $0[index].contents = StoreContents() }
        ledger.withLock { $0.loseStore(of: index) }
        returns[index] = pair.elapsed + .milliseconds(Int64(20 + random.upTo(3000)))
    }

    private func note(_ kind: String, _ body: () -> Void) {
        faults[kind, default: 0] += 1
        body()
    }
}
