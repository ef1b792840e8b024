import MeshBase
import MeshDelivery
import MeshIdentity
import MeshScenarioTransport
import MeshStorage
import MeshTransport

/// One seed of a `LiarSimulation`.
@available(macOS 15.0, iOS 18.0, watchOS 11.0, tvOS 18.0, visionOS 2.0, *)
final class LiarRun {
    let network: ScenarioNetwork
    private(set) var faults: [String: Int] = [:]
    private(set) var lies: [String: Int] = [:]
    private(set) var launches = 0
    /// The time until the new session was equal on both devices.
    private(set) var agreedAfter = Duration.zero

    private let seed: UInt64
    private let thread: SimulationThread
    private var random: SplitMix64
    private let rate: Double
    private let failure = Locked<String?>(nil)
    private let log = Locked<[String]>([])
    private var apps: [LiarApp?] = [nil, nil, nil]
    private var liar: LyingTransport?
    private var disks: [SimulatedDisk]
    private var number: UInt32 = 0

    private static let names = ["phone", "tablet", "watch"]
    private static let watch = 2
    private static let honest = [0, 1]
    private static let step = Duration.milliseconds(100)
    private static let patience = Duration.seconds(200)

    init(seed: UInt64, thread: SimulationThread) {
        self.seed = seed
        self.thread = thread
        random = SplitMix64(seed: seed)
        rate = [0.05, 0.3, 0.8][random.below(3)]
        network = ScenarioNetwork(
            seed: seed, conditions: random.happens(rate: 0.3) ? .rough : .calm, traceLimit: 0)
        disks = Self.names.map { _ in SimulatedDisk(durability: .memory, staysOff: true) }
    }

    /// A log of everything that happened.
    var account: String { log.withLock { $0.joined(separator: "\n") } }

    /// - Returns: The failure, or nil.
    func play() -> String? {
        defer { for device in apps.indices { die(device) } }
        for device in apps.indices { launch(device) }
        advance(by: .seconds(3))
        use(random.below(3), "open") { $0.open() }
        while network.elapsed < .seconds(60) {
            act(random.below(apps.count))
            advance(by: .milliseconds(Int64(random.upTo(1_000))))
            if let failure = fault() { return failure }
        }
        return goOnAlone()
    }

    private func act(_ device: Int) {
        number += 1
        let number = number
        switch random.below(20) {
        case 0: use(device, "open") { $0.open() }
        case 1...7: use(device, "tap") { $0.tap(number) }
        case 8...11: use(device, "samples") { $0.record(1 + number % 40) }
        case 12...14: use(device, "value shown") { $0.show(number) }
        case 15...17: use(device, "key") { $0.write(number) }
        default:
            note("relaunch", device)
            die(device)
            advance(by: .milliseconds(Int64(random.upTo(4_000))))
            launch(device)
        }
    }

    /// Removes the watch. Both others are relaunched and begin a session without it.
    private func goOnAlone() -> String? {
        note("gone", Self.watch)
        die(Self.watch)
        network.conditions = .calm
        for device in Self.honest {
            die(device)
            launch(device)
        }
        advance(by: .seconds(5))
        if let failure = fault() { return failure }
        use(0, "open") { $0.open() }
        let start = network.elapsed
        if let failure = wait(until: newSession) { return failure }
        number += 1
        for device in Self.honest {
            use(device, "tap") { [tap = number + UInt32(device)] in $0.tap(tap) }
            use(device, "samples") { $0.record(10) }
        }
        number += 1
        use(0, "key") { [number] in $0.write(number) }
        if let failure = wait(until: difference) { return failure }
        agreedAfter = network.elapsed - start
        return nil
    }

    /// - Returns: The difference that remains after `patience`, or nil.
    private func wait(until fault: ([LiarView]) -> String?) -> String? {
        let start = network.elapsed
        while true {
            advance(by: .milliseconds(500))
            if let failure = self.fault() { return failure }
            guard let reason = fault(views()) else { return nil }
            if network.elapsed - start > Self.patience { return "without the watch: \(reason)" }
        }
    }

    private func newSession(_ views: [LiarView]) -> String? {
        guard let session = views[0].sessionID, session == views[1].sessionID, views.allSatisfy(\.isMember) else {
            return "phone and tablet aren't in one session: \(views)"
        }
        return nil
    }

    private func difference(_ views: [LiarView]) -> String? {
        guard views[0].taps == views[1].taps, views[0].taps.isSuperset(of: [number - 1, number]) else {
            return "taps differ: \(views)"
        }
        guard views.allSatisfy({ $0.keyNumber == number }) else { return "the key isn't \(number): \(views)" }
        guard views.allSatisfy({ $0.sampleCount >= 20 }) else { return "samples are missing: \(views)" }
        return nil
    }

    private func fault() -> String? {
        if let failure = failure.withLock({ $0 }) { return failure }
        for view in views() { if let fault = view.fault { return "\(view.name): \(fault)" } }
        return nil
    }

    private func views() -> [LiarView] {
        let apps = Self.honest.compactMap { self.apps[$0] }
        let views = Locked<[LiarView]>([])
        onMain {
            for app in apps {
                let view = await app.view()
                views.withLock { $0.append(view) }
            }
        }
        return views.withLock { $0 }
    }

    private func onMain(_ body: @escaping @MainActor @Sendable () async -> Void) {
        Task { @MainActor in await body() }
        thread.runAll()
    }

    private func advance(by duration: Duration) {
        let end = network.elapsed + duration
        while network.elapsed < end {
            network.advance(by: min(Self.step, end - network.elapsed))
            thread.runAll()
        }
    }

    // MARK: - Apps

    private func use(_ device: Int, _ kind: String, _ body: @escaping @MainActor @Sendable (LiarApp) -> Void) {
        guard let app = apps[device] else { return }
        note(kind, device)
        onMain { body(app) }
    }

    private func peer(_ device: Int) -> SessionPeer {
        SessionPeer(id: Self.names[device], deviceClass: .unknown, appInstanceID: "1", topology: .localNetwork)
    }

    private func launch(_ device: Int) {
        launches += 1
        var seeds = SplitMix64(seed: seed ^ UInt64(launches) << 32)
        let store = SimulatedDisk(disks[device].contents, durability: .memory, staysOff: true)
        disks[device] = store
        var configuration = DeliveryConfiguration()
        configuration.seed = seeds.next()
        do {
            var transport: any SessionSyncTransport & AnyObject = try network.makeTransport(
                localPeer: peer(device), configuration: configuration, store: store)
            if device == Self.watch {
                let lying = LyingTransport(transport, rate: rate, seed: seeds.next())
                liar = lying
                transport = lying
            }
            let made = Locked<LiarApp?>(nil)
            let usesShortForms = device != Self.watch || seeds.happens(rate: 0.5)
            onMain { [transport, failure, seed = seeds.next(), clock = network.clock(of: peer(device))] in
                // The liar's failures don't count: its forged messages may harm itself.
                let failure = device == Self.watch ? Locked<String?>(nil) : failure
                let app = LiarApp(
                    name: Self.names[device], transport: transport, clock: clock, store: store, seed: seed,
                    usesShortForms: usesShortForms, failure: failure)
                made.withLock { $0 = app }
            }
            apps[device] = made.withLock { $0 }
        } catch {
            failure.withLock { $0 = "the transport of \(Self.names[device]) could not begin: \(error)" }
        }
    }

    private func die(_ device: Int) {
        guard let app = apps[device].take() else { return }
        if device == Self.watch, let liar { lies.merge(liar.liesByType, uniquingKeysWith: +) }
        disks[device].turnOff()
        onMain { app.die() }
        network.crash(peer(device))
        thread.runAll()
    }

    private func note(_ kind: String, _ device: Int) {
        faults[kind, default: 0] += 1
        let time = Int(network.elapsed / .milliseconds(1))
        log.withLock { $0.append("\(time) ms \(Self.names[device]): \(kind)") }
    }
}
