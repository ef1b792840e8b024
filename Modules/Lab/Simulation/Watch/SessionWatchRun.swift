import MeshBus
import MeshSimulatedWatch

/// One seed of a `SessionWatchSimulation`.
@available(macOS 15.0, iOS 18.0, watchOS 11.0, tvOS 18.0, visionOS 2.0, *)
final class SessionWatchRun {
    let simulation: SessionWatchSimulation
    let pair: SimulatedWatchPair
    let thread: SimulationThread
    private(set) var faults: [String: Int] = [:]
    private(set) var tapCount: UInt32 = 0
    private(set) var equalAfter = Duration.zero
    private let stores: [SessionWatchApp.Stores]?
    private let apps = Locked([SessionWatchApp?](repeating: nil, count: 2))
    private let launches = Locked<UInt64>(0)
    private let failure = Locked<String?>(nil)
    private let accepted = Locked<Set<UInt32>>([])
    private var random: SplitMix64
    /// When each device is to be in the foreground again.
    private var returns: [Duration?] = [nil, nil]

    private static let step = Duration.milliseconds(20)

    init(_ simulation: SessionWatchSimulation, seed: UInt64, thread: SimulationThread, traceLimit: Int) {
        self.simulation = simulation
        self.thread = thread
        random = SplitMix64(seed: seed)
        pair = SimulatedWatchPair(seed: seed, conditions: .calm, watches: 1, traceLimit: traceLimit)
        stores = seed % 3 == 0 ? nil : [SessionWatchApp.Stores(), SessionWatchApp.Stores()]
        for index in devices.indices { installApp(on: index, seed) }
    }

    private var devices: [SimulatedDevice] { [pair.phone, pair.watch] }

    private func installApp(on index: Int, _ seed: UInt64) {
        let device = devices[index]
        let stores = stores?[index]
        device.onLaunch { [clock = pair.clock, apps, launches, failure] session in
            let launch = launches.withLock { count in
                count += 1
                return count
            }
            do {
                let app = try SessionWatchApp(
                    device: index, session: session, stores: stores, clock: AppClock(clock, on: device),
                    seed: (seed &+ 1) &* 0x9E37_79B9_7F4A_7C15 ^ launch << 40 ^ launch << 17, failure: failure)
                apps.withLock { $0[index] = app }
            } catch {
                failure.withLock { $0 = "an app could not begin: \(error)" }
            }
        }
        device.onTerminate { [apps] in
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
        // Everything is well from now on.
        while returns.contains(where: { $0 != nil }) { advance(by: Self.step) }
        if random.happens(rate: 0.5) {
            advance(by: .milliseconds(Int64(random.upTo(500))))
            tap()
        }
        return settle()
    }

    private func settle() -> String? {
        let start = pair.elapsed
        while pair.elapsed - start < simulation.patience {
            advance(by: Self.step)
            if let failure = failure.withLock({ $0 }) { return failure }
            if difference != nil { equalAfter = pair.elapsed - start }
        }
        return difference.map { "\($0) \(simulation.patience) after the last tap" }
    }

    private func advance(by duration: Duration) {
        let end = pair.elapsed + duration
        while pair.elapsed < end {
            for index in devices.indices {
                if let time = returns[index], time <= pair.elapsed {
                    returns[index] = nil
                    devices[index].launch()
                }
            }
            thread.runAll()
            for app in apps.withLock({ $0 }) { app?.clock.goOn() }
            pair.advance(by: min(Self.step, end - pair.elapsed))
            thread.runAll()
        }
    }

    /// On a device that is looked at.
    private func tap() {
        let seen = devices.indices.filter { devices[$0].state == .foreground }
        guard !seen.isEmpty else { return }
        let index = seen[Int(random.upTo(UInt64(seen.count - 1)))]
        tapCount += 1
        apps.withLock { $0[index] }?.tap(tapCount, accepted: accepted)
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
        guard phone == watch else { return "the phone shows \(phone) and the watch \(watch)" }
        guard stores != nil else { return nil }
        let wanted = accepted.withLock { $0.sorted() }
        return phone.sorted() == wanted ? nil : "both show \(phone) and were tapped \(wanted)"
    }

    // MARK: Faults

    /// About one in two seconds, on a device that has none.
    private func causeFaults() {
        guard random.happens(rate: 0.01) else { return }
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

    private func note(_ kind: String, _ body: () -> Void) {
        faults[kind, default: 0] += 1
        body()
    }
}
