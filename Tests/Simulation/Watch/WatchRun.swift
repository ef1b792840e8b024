import MeshBase
import MeshDelivery
import MeshIdentity
import MeshSimulatedWatch
import MeshStorage

/// One seed of a `WatchSimulation`.
@available(macOS 15.0, iOS 18.0, watchOS 11.0, tvOS 18.0, visionOS 2.0, *)
final class WatchRun {
    let simulation: WatchSimulation
    let pair: SimulatedWatchPair
    let progress: Locked<WatchProgress>
    private(set) var faults: [String: Int] = [:]
    private let seed: UInt64
    private let isCalm: Bool
    private let executor = ManualExecutor()
    private let stores: [MemoryStore]
    private let apps: Locked<[WatchApp?]>
    private let launches = Locked<UInt64>(0)
    private var random: SplitMix64

    init(_ simulation: WatchSimulation, seed: UInt64, traceLimit: Int) {
        self.simulation = simulation
        self.seed = seed
        random = SplitMix64(seed: seed)
        isCalm = !simulation.hasFaults || seed % 8 == 6
        let watches = !isCalm && seed % 2 == 1 ? 2 : 1
        pair = SimulatedWatchPair(
            seed: seed, conditions: isCalm ? .calm : .rough, watches: watches, traceLimit: traceLimit)
        stores = (0...watches).map { _ in MemoryStore() }
        apps = Locked([WatchApp?](repeating: nil, count: watches + 1))
        let ways = (1...watches).flatMap { [WatchWay(from: 0, to: $0), WatchWay(from: $0, to: 0)] }
        progress = Locked(WatchProgress(ways: ways, devices: watches + 1, isCalm: isCalm))
        for index in devices.indices { installApp(on: index) }
    }

    private var devices: [SimulatedDevice] { [pair.phone] + pair.watches }

    private func installApp(on index: Int) {
        let device = devices[index]
        let store = simulation.hasStores ? stores[index] : nil
        device.onLaunch { [seed, clock = pair.clock, executor, progress, apps, launches] session in
            let launch = launches.withLock { count in
                count += 1
                return count
            }
            do {
                let app = try WatchApp(
                    device: index, session: session, store: store, clock: AppClock(clock, on: device),
                    seed: seed ^ launch << 32, executor: executor, progress: progress)
                apps.withLock { $0[index] = app }
            } catch {
                progress.withLock { $0.failure = "an app could not begin: \(error)" }
            }
        }
        device.onTerminate { [apps] in
            let app = apps.withLock { apps in apps[index].take() }
            app?.die()
        }
    }

    /// - Returns: what went wrong.
    func play() -> String? {
        defer { for device in devices { device.kill() } }
        for device in devices { device.launch() }
        while !progress.withLock({ $0.ways.allSatisfy { $0.allowed == simulation.envelopes } }) {
            if !isCalm { causeFaults() }
            permit()
            if let failure = step(.milliseconds(100)) { return failure }
        }
        return settle()
    }

    private func step(_ duration: Duration) -> String? {
        executor.runAll()
        for app in apps.withLock({ $0 }) { app?.clock.goOn() }
        pair.advance(by: duration)
        executor.runAll()
        return progress.withLock { $0.failure }
    }

    /// Lets apps that run send something more.
    private func permit() {
        let apps = apps.withLock { $0 }
        for index in progress.withLock({ Array($0.ways.indices) }) {
            let isDue = random.happens(rate: 0.05)
            let count = 1 + random.upTo(3)
            progress.withLock { progress in
                guard isDue, let app = apps[progress.ways[index].from] else { return }
                guard devices[app.device].state != .suspended else { return }
                progress.ways[index].allowed = min(progress.ways[index].allowed + count, simulation.envelopes)
            }
        }
        for app in apps {
            guard let app, devices[app.device].state != .suspended else { continue }
            if random.happens(rate: 0.02) { app.publish() }
            // Before they have met, too.
            if random.happens(rate: isCalm && pair.elapsed < .seconds(5) ? 0.3 : 0.02) { app.chatter() }
        }
        goOnSending()
    }

    private func goOnSending() {
        let apps = apps.withLock { $0 }
        for (index, way) in progress.withLock({ $0.ways }).enumerated()
        where way.accepted < way.allowed && devices[way.from].state != .suspended { apps[way.from]?.send(on: index) }
    }

    /// Everything is well from now on, and every watch is worn by turns.
    private func settle() -> String? {
        pair.conditions = .calm
        for device in devices {
            device.isInRange = true
            device.isDiskFull = false
            device.needsUnlock = false
            device.claimedReachability = nil
            device.launch()
        }
        var turn = 0
        while pair.elapsed < simulation.patience {
            pair.switchTo(pair.watches[turn % pair.watches.count])
            turn += 1
            for _ in 0..<60 {
                goOnSending()
                if let failure = step(.seconds(1)) { return failure }
                if missing == nil { return linger() }
            }
        }
        return missing.map { "\($0) after \(simulation.patience)" }
    }

    /// Whether something comes once more.
    private func linger() -> String? {
        for watch in pair.watches {
            pair.switchTo(watch)
            if let failure = step(.seconds(60)) { return failure }
        }
        return missing
    }

    private var missing: String? {
        let progress = progress.withLock { $0 }
        for way in progress.ways where way.delivered < simulation.envelopes {
            return
                "\(way.featureID): \(way.delivered) of \(simulation.envelopes) have arrived, \(way.accepted) were accepted"
        }
        let apps = apps.withLock { $0 }
        for way in progress.ways where progress.published[way.from] > 0 {
            let newest = apps[way.to]?.transport.latestPeerSnapshot(featureID: "state of \(way.from)")?.revision
            guard newest != progress.published[way.from] else { continue }
            return "\(way.featureID): snapshot \(newest ?? 0) of \(progress.published[way.from]) has arrived"
        }
        for device in progress.said.indices where isCalm && progress.heard[device].count < progress.said[device] {
            let (heard, said) = (progress.heard[device].count, progress.said[device])
            return "\(WatchApp.peer(device).id): \(heard) of \(said) best-effort envelopes have arrived"
        }
        return nil
    }

    // MARK: Faults

    /// About one in three seconds.
    private func causeFaults() {
        guard random.happens(rate: 0.03) else { return }
        let device = devices[Int(random.upTo(UInt64(devices.count - 1)))]
        switch random.upTo(15) {
        case 0, 1: note("suspension") { device.suspend() }
        case 2: note("background") { device.enterBackground() }
        case 3, 4: note("kill") { device.kill() }
        case 5: note("relaunch") { device.relaunch(inForeground: random.happens(rate: 0.5)) }
        case 6: note("lie") { device.claimedReachability = random.happens(rate: 0.5) }
        case 7: device.claimedReachability = nil
        case 8: note("out of range") { pair.watch.isInRange = false }
        case 9: note("disk full") { device.isDiskFull.toggle() }
        case 10: note("restart") { pair.phone.restart() }
        case 11: note("switch") { pair.switchTo(pair.watches[Int(random.upTo(UInt64(pair.watches.count - 1)))]) }
        default: putInOrder(device)
        }
    }

    private func putInOrder(_ device: SimulatedDevice) {
        pair.phone.needsUnlock = false
        pair.watch.isInRange = true
        device.isDiskFull = false
        device.launch()
    }

    private func note(_ kind: String, _ body: () -> Void) {
        faults[kind, default: 0] += 1
        body()
    }
}
