import MeshBase
import MeshKeySync
import MeshSimulatedWatch
import MeshStorage

/// One seed of a `KeyWatchSimulation`.
@available(macOS 15.0, iOS 18.0, watchOS 11.0, tvOS 18.0, visionOS 2.0, *)
final class KeyWatchRun: PairRun<KeyWatchApp> {
    private let simulation: KeyWatchSimulation
    private var changeCount: UInt32 = 0
    /// The values that each key may have: the last one written and, if a write was cut short, the one before.
    private var allowed: [WatchKey: Set<UInt32?>] = [:]
    /// A copy of each device's store from a moment when both had the same values.
    private var backups: [StoreContents?] = [nil, nil]
    /// True in every eighth seed: long absences last days instead of minutes.
    private var lastsForDays: Bool { seed % 8 == 0 }

    init(_ simulation: KeyWatchSimulation, seed: UInt64, thread: SimulationThread, traceLimit: Int) {
        self.simulation = simulation
        super.init(seed: seed, thread: thread, traceLimit: traceLimit)
        for key in WatchKey.shared { allowed[key] = [nil] }
        install { [mutation = simulation.mutation, failure] launch in
            try KeyWatchApp(launch, isOld: seed % 4 == UInt64(launch.device), mutation: mutation, failure: failure)
        }
    }

    override func count(_ outcome: inout SeedOutcome) {
        outcome.counts = ["changes": Int(changeCount)]
        outcome.greatest = ["slowestSeconds": equalAfter / .seconds(1)]
    }

    override func play() -> String? {
        launch()
        while changeCount < simulation.changes, failure.withLock({ $0 == nil }) {
            causeFaults()
            if random.happens(rate: 0.03) { write() }
            advance(by: Self.step)
        }
        heal()
        rejectNextCommit()
        return settle() ?? sendManually()
    }

    /// Launches both devices at once, or one first. The other then follows within seconds, or after a long absence.
    private func launch() {
        let first = Int(random.upTo(1))
        devices[first].launch()
        switch random.upTo(9) {
        case 0...1: returns[1 - first] = .zero
        case 2...7: returns[1 - first] = .milliseconds(Int64(random.upTo(5000)))
        default: leave(1 - first)
        }
        for _ in 0..<random.upTo(4) {
            advance(by: .milliseconds(Int64(random.upTo(500))))
            write()
        }
    }

    private func longAbsence() -> Duration {
        .seconds(Int64(lastsForDays ? 86_400 + random.upTo(2 * 86_400) : 120 + random.upTo(600)))
    }

    /// Makes the reader's store accept the transport's commit of some values and reject key sync's commit of them. The
    /// values then arrive only if they are sent again.
    private func rejectNextCommit() {
        advance(by: .seconds(2))
        let (writer, reader) = random.happens(rate: 0.5) ? (0, 1) : (1, 0)
        note("refused arrival") { disks.withLock { $0[reader] }.prepare(.isRefused, after: 1) }
        write(on: writer)
    }

    private func settle() -> String? {
        let start = pair.elapsed
        var (syncedAt, wasSynced) = (Duration?.none, false)
        while pair.elapsed - start < simulation.patience {
            advance(by: Self.step * 5)
            if let failure = failure.withLock({ $0 }) { return failure }
            let views = views
            let ofValues = differenceOfValues(views)
            if let difference = ofValues ?? differenceOfStatuses(views) {
                // After a device lost its store, the platform delivers messages of earlier launches again. The devices
                // then compare their keys again, so a status may change. A value may not.
                guard !wasSynced || (hasLostStore && ofValues == nil) else {
                    return "all were equal, then \(difference)"
                }
                syncedAt = nil
                continue
            }
            let since = syncedAt ?? pair.elapsed
            (syncedAt, wasSynced, equalAfter) = (since, true, since - start)
            if pair.elapsed - since > .seconds(5) { return nil }
        }
        return difference.map { "\($0) \(simulation.patience) after the last change" }
    }

    /// Checks that a manual key arrives once the app sends it, and not every time before. It may arrive earlier if the
    /// other device happens to ask for it, so there are four attempts.
    private func sendManually() -> String? {
        guard let key = WatchKey.manual.first else { return nil }
        let device = Int(random.upTo(1))
        func hasArrived() -> Bool { views[1 - device]?.numbers[key] == changeCount }
        var attempts = 0
        repeat {
            guard attempts < 4 else { return "\(key) syncs without a call" }
            attempts += 1
            changeCount += 1
            apps.withLock { $0[device] }?.write([key: changeCount]) {}
            advance(by: .seconds(3))
        } while hasArrived()
        apps.withLock { $0[device] }?.sendAll()
        let start = pair.elapsed
        while !hasArrived(), pair.elapsed - start < simulation.patience { advance(by: .seconds(1)) }
        return hasArrived() ? nil : "\(key) hasn't arrived though the app sent it"
    }

    /// Writes now and then during an absence.
    override func useWhileAlone() {
        if random.happens(rate: 0.01) { write() }
    }

    // MARK: Changes

    /// Writes some keys at once, on a device in the foreground.
    private func write() {
        let seen = devices.indices.filter {
            devices[$0].state == .foreground && apps.withLock { $0 }[$0]?.isReady == true
        }
        guard !seen.isEmpty else { return }
        write(on: seen[Int(random.upTo(UInt64(seen.count - 1)))])
    }

    private func write(on index: Int) {
        changeCount += 1
        var changes: [WatchKey: UInt32?] = [:]
        let shown = views[index]?.numbers ?? [:]
        var unchanged: Set<WatchKey> = []
        for _ in 0...random.upTo(random.happens(rate: 0.2) ? 6 : 0) {
            let key = WatchKey.all[Int(random.upTo(UInt64(WatchKey.all.count - 1)))]
            // The app stores the value that it shows. That isn't a change, so it must not replace another device's.
            if random.happens(rate: 0.15), changes[key] == nil, shown[key] != nil {
                unchanged.insert(key)
                continue
            }
            unchanged.remove(key)
            changes.updateValue(random.happens(rate: 0.2) ? nil : changeCount, forKey: key)
        }
        let isWritten = Locked(false)
        apps.withLock { $0[index] }?.write(changes, unchanged: unchanged) { isWritten.withLock { $0 = true } }
        thread.runAll()
        for (key, number) in changes {
            if isWritten.withLock({ $0 }) { allowed[key] = [] }
            allowed[key, default: []].insert(number)
        }
        // Makes the next change later than this one on both devices' clocks.
        pair.advance(by: .milliseconds(2))
    }

    private var views: [WatchKeyView?] {
        let views = Locked([WatchKeyView?](repeating: nil, count: 2))
        for (index, app) in apps.withLock({ $0 }).enumerated() {
            app?.look { view in views.withLock { $0[index] = view } }
        }
        thread.runAll()
        return views.withLock { $0 }
    }

    /// The first difference from the expected state, or nil.
    private var difference: String? {
        let views = views
        return differenceOfValues(views) ?? differenceOfStatuses(views)
    }

    private func differenceOfValues(_ views: [WatchKeyView?]) -> String? {
        guard let phone = views[0], let watch = views[1] else { return "an app shows nothing" }
        if let complaint = phone.complaint ?? watch.complaint { return complaint }
        for key in WatchKey.shared {
            let (here, there) = (phone.numbers[key], watch.numbers[key])
            guard here == there else {
                return "\(key) is \(Self.text(here)) on the phone and \(Self.text(there)) on the watch"
            }
            let allowed = allowed[key] ?? []
            guard allowed.contains(here) else {
                return "\(key) is \(Self.text(here)), but \(allowed.map(Self.text).sorted()) was written last"
            }
        }
        for key in WatchKey.kept {
            if let number = phone.numbers[key], number == watch.numbers[key] {
                return "\(key) was sent to the other device"
            }
        }
        return nil
    }

    private func differenceOfStatuses(_ views: [WatchKeyView?]) -> String? {
        for view in views {
            for key in WatchKey.shared {
                guard let status = view?.statuses[key], status != .synced else { continue }
                return "\(key) is the same on both, but \(status)"
            }
            for key in WatchKey.kept {
                if case .refused = view?.statuses[key] ?? .refused(reason: "") { continue }
                return "\(key) isn't shared, but its status doesn't say so"
            }
        }
        return nil
    }

    private static func text(_ number: UInt32?) -> String { number.map { "\($0)" } ?? "absent" }

    // MARK: Faults

    /// Injects about one fault in two virtual seconds, on a device that isn't away.
    private func causeFaults() {
        guard random.happens(rate: 0.01) else { return }
        let index = Int(random.upTo(1))
        let device = devices[index]
        guard returns[index] == nil else { return }
        let time = Duration.milliseconds(Int64(20 + random.upTo(random.happens(rate: 0.7) ? 700 : 5000)))
        switch random.upTo(21) {
        case 0...3: note("background", index, for: time) { device.enterBackground() }
        case 4...6: note("suspension", index, for: time) { device.suspend() }
        case 7...10: note("kill", index, for: time) { device.kill() }
        case 11: leave(index)
        case 12...15: moveApart(for: .milliseconds(Int64(200 + random.upTo(15_000))))
        case 16: moveApart(for: longAbsence(), as: lastsForDays ? "apart for days" : "apart for minutes")
        case 17: disks.withLock { $0[index] }.prepare(.isCutShort(isWritten: random.happens(rate: 0.5)))
        case 18: note("refused commit") { disks.withLock { $0[index] }.prepare(.isRefused) }
        case 19: loseStore(index, after: time)
        case 20: backUp(index)
        default: restoreStore(index, after: time)
        }
    }

    /// Makes a device absent for minutes or days. If for minutes, it may stay in reach, and the system then launches
    /// its app for incoming messages. If for days, it is switched off.
    private func leave(_ index: Int) {
        let absence = longAbsence()
        note(lastsForDays ? "absent for days" : "absent", index, for: absence) { devices[index].kill() }
        guard lastsForDays || random.happens(rate: 0.5) else { return }
        pair.watch.isInRange = false
        meeting = max(meeting ?? .zero, pair.elapsed + absence)
    }

    /// Deletes and reinstalls an app, once the other device has everything that it had.
    private func loseStore(_ index: Int, after time: Duration) {
        guard !hasLostStore, difference == nil else { return }
        hasLostStore = true
        replaceStore(of: index, with: StoreContents(), as: "lost store", for: time)
    }

    private func backUp(_ index: Int) {
        guard backups[index] == nil, difference == nil else { return }
        backups[index] = disks.withLock { $0[index].contents }
    }

    /// Restores an older store on a device, once the other has everything that was changed since.
    private func restoreStore(_ index: Int, after time: Duration) {
        guard let backup = backups[index], difference == nil else { return }
        backups[index] = nil
        replaceStore(of: index, with: backup, as: "restored store", for: time)
    }
}
