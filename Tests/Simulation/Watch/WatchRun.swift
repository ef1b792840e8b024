import MeshBase
import MeshIdentity
import MeshSimulatedWatch
import MeshTransport

/// One seed of a `WatchSimulation`.
@available(macOS 15.0, iOS 18.0, watchOS 11.0, tvOS 18.0, visionOS 2.0, *)
final class WatchRun: PairRun<WatchApp> {
    private let simulation: WatchSimulation
    private let progress: Locked<WatchProgress>
    private let isCalm: Bool

    init(_ simulation: WatchSimulation, seed: UInt64, thread: SimulationThread, traceLimit: Int) {
        let isCalm = !simulation.hasFaults || seed % 8 == 6
        let watches = !isCalm && seed % 2 == 1 ? 2 : 1
        let ways = (1...watches).flatMap { [WatchWay(from: 0, to: $0), WatchWay(from: $0, to: 0)] }
        let progress = Locked(WatchProgress(ways: ways, devices: watches + 1, isCalm: isCalm))
        (self.simulation, self.isCalm, self.progress) = (simulation, isCalm, progress)
        super.init(
            seed: seed, conditions: isCalm ? .calm : .rough, watches: watches, thread: thread, traceLimit: traceLimit)
        install { [hasStores = simulation.hasStores] launch in
            try WatchApp(
                launch, store: hasStores ? launch.disk : nil, seed: seed ^ launch.number << 32, progress: progress)
        }
    }

    override func count(_ outcome: inout SeedOutcome) {
        let (ways, statistics) = (progress.withLock { $0.ways }, pair.statistics)
        outcome.counts = [
            "envelopes": Int(ways.reduce(0) { $0 + $1.accepted }),
            "delivered": Int(ways.reduce(0) { $0 + $1.delivered }),
            "offeredAgain": Int(ways.reduce(0) { $0 + $1.repeatedCount }),
            "messages": statistics.messagesDelivered, "userInfos": statistics.userInfosDelivered,
            "contexts": statistics.contextsDelivered,
        ]
    }

    override func play() -> String? {
        for device in devices { device.launch() }
        while !progress.withLock({ $0.ways.allSatisfy { $0.allowed == simulation.envelopes } }) {
            if !isCalm { causeFaults() }
            allowSending()
            if let failure = step(.milliseconds(100)) { return failure }
        }
        return settle()
    }

    private func step(_ duration: Duration) -> String? {
        pass(duration)
        return failure.withLock { $0 } ?? progress.withLock { $0.failure }
    }

    /// Raises, at random, the number of envelopes that each running app may send.
    private func allowSending() {
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
            // Without faults, apps send more often in the first seconds, some of it before the devices have met.
            if random.happens(rate: isCalm && pair.elapsed < .seconds(5) ? 0.3 : 0.02) { app.chatter() }
        }
        resumeSending()
    }

    private func resumeSending() {
        let apps = apps.withLock { $0 }
        for (index, way) in progress.withLock({ $0.ways }).enumerated()
        where way.accepted < way.allowed && devices[way.from].state != .suspended { apps[way.from]?.send(on: index) }
    }

    /// Ends all faults, then lets the user switch between the watches until everything has arrived.
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
                resumeSending()
                if let failure = step(.seconds(1)) { return failure }
                if missing == nil { return linger() }
            }
        }
        return missing.map { "\($0) after \(simulation.patience)" }
    }

    /// Checks that no envelope arrives a second time.
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
            return "\(SessionPeer.ofPair(device).id): \(heard) of \(said) best-effort envelopes have arrived"
        }
        return nil
    }

    // MARK: Faults

    /// Injects about one fault in three virtual seconds.
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
        default: repair(device)
        }
    }

    private func repair(_ device: SimulatedDevice) {
        pair.phone.needsUnlock = false
        pair.watch.isInRange = true
        device.isDiskFull = false
        device.launch()
    }
}
