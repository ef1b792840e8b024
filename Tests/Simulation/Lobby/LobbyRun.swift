import MeshBase
import MeshBrokenRules
import MeshDelivery
import MeshDiagnostics
import MeshIdentity
import MeshScenarioTransport
import MeshSession
import MeshStorage
import MeshTransport

/// One run of a `LobbySimulation` schedule.
@available(macOS 15.0, iOS 18.0, watchOS 11.0, tvOS 18.0, visionOS 2.0, *)
final class LobbyRun {
    let schedule: LobbySchedule
    let network: ScenarioNetwork
    let ledger = LobbyLedger()
    private(set) var faults: [String: Int] = [:]
    private(set) var tapCount: UInt32 = 0
    /// The number of the session that each device with a store followed when it crashed.
    private(set) var remembered: [Int: UInt32] = [:]
    /// The time from the network's healing until all checks passed.
    private(set) var agreedAfter = Duration.zero
    private let thread: SimulationThread
    private let isRecorded: Bool
    private let log = Locked<[String]>([])
    private var apps: [LobbyApp?]
    private var disks: [SimulatedDisk]
    private var launches: UInt64 = 0

    private static let step = Duration.milliseconds(20)
    /// The time for which the checks must keep passing.
    private static let calm = Duration.seconds(5)
    /// Longer than the minute after which absent members are removed.
    private static let patience = Duration.seconds(200)

    init(_ schedule: LobbySchedule, thread: SimulationThread, isRecorded: Bool) {
        self.isRecorded = isRecorded
        self.schedule = schedule
        self.thread = thread
        network = ScenarioNetwork(seed: schedule.seed, conditions: schedule.conditions, traceLimit: 0)
        apps = Array(repeating: nil, count: schedule.devices)
        disks = (0..<schedule.devices).map { _ in SimulatedDisk(durability: .memory, staysOff: true) }
    }

    /// A log of everything that happened on the devices.
    var account: String { log.withLock { $0.joined(separator: "\n") } }

    /// - Returns: The failure, or nil.
    func play() -> String? {
        defer { for device in apps.indices { crash(device) } }
        for entry in schedule.entries {
            advance(by: entry.at - network.elapsed)
            perform(entry.step)
            if let failure = ledger.failure { return failure }
        }
        return settle()
    }

    /// Heals everything, then waits until all checks pass. Returns the failure, or nil.
    private func settle() -> String? {
        network.heal()
        network.conditions = .calm
        if let absent = schedule.absent { crash(absent) }
        for device in apps.indices where device != schedule.absent { launch(device) }
        note("calm")
        if schedule.absent != nil {
            if let failure = wait(until: disagreement) { return "without \(absentName): \(failure)" }
            for device in apps.indices { launch(device) }
        }
        // A device that has closed its session reports the end after a relaunch.
        for view in views() where view.session?.isClosed == true && schedule.keepers.contains(view.device) {
            crash(view.device)
            launch(view.device)
        }
        let start = network.elapsed
        let failure = wait(until: difference)
        if failure == nil { agreedAfter = network.elapsed - start - Self.calm }
        return failure
    }

    private var absentName: String { schedule.absent.map(LobbySchedule.name(of:)) ?? "" }

    /// Advances time until the checks have passed for a while.
    private func wait(until fault: ([LobbyView]) -> String?) -> String? {
        let start = network.elapsed
        var wellSince: Duration?
        var last: String?
        while network.elapsed - start < Self.patience {
            advance(by: .milliseconds(500))
            if let failure = ledger.failure { return failure }
            last = fault(views())
            if last != nil { wellSince = nil } else { wellSince = wellSince ?? network.elapsed }
            if let wellSince, network.elapsed - wellSince >= Self.calm { return nil }
        }
        return last ?? "all checks held for a moment only"
    }

    private func advance(by duration: Duration) {
        let end = network.elapsed + duration
        while network.elapsed < end {
            network.advance(by: min(Self.step, end - network.elapsed))
            thread.runAll()
            noteTaps()
        }
    }

    private func noteTaps() {
        let apps = apps
        onMain { for app in apps { app?.noteTaps() } }
    }

    private func views() -> [LobbyView] {
        let apps = apps
        let views = Locked<[LobbyView]>([])
        onMain { views.withLock { $0 = apps.compactMap { $0?.view } } }
        return views.withLock { $0 }
    }

    private func onMain(_ body: @escaping @MainActor @Sendable () -> Void) {
        Task { @MainActor in body() }
        thread.runAll()
    }

    // MARK: - Steps

    private func perform(_ step: LobbySchedule.Step) {
        switch step {
        case .launch(let device): launch(device)
        case .crash(let device, let losesStore):
            guard apps[device] != nil else { return }
            crash(device, losesStore: losesStore)
        case .cut(let devices):
            note("partition", "\(step)")
            let (here, there) = apps.indices.reduce(into: ([SessionPeer](), [SessionPeer]())) { sides, device in
                if devices.contains(device) { sides.0.append(peer(device)) } else { sides.1.append(peer(device)) }
            }
            network.partition(here, there)
        case .silence(let sender, let receiver):
            note("silence", "\(step)")
            network.partition(from: peer(sender), to: peer(receiver))
        case .heal:
            note("heal")
            network.heal()
        case .clock(let device, let seconds):
            note("skew", "\(step)")
            network.setClockOffset(.seconds(seconds), of: peer(device))
        case .open(let device): use(device, "open", step) { $0.open() }
        case .tap(let device, let count):
            for _ in 0..<count {
                tapCount += 1
                use(device, "tap") { [tapCount] in $0.tap(tapCount) }
            }
        case .invite(let guest, let device):
            guard guest != device else { return }
            use(device, "invite", step) { _ = $0.invite(LobbySchedule.name(of: guest)) }
        case .end(let device): use(device, "end", step) { $0.end() }
        }
    }

    private func use(
        _ device: Int, _ kind: String, _ step: LobbySchedule.Step? = nil,
        _ body: @escaping @MainActor @Sendable (LobbyApp) -> Void
    ) {
        guard let app = apps[device] else { return }
        note(kind, step.map { "\($0)" })
        onMain { body(app) }
    }

    private func peer(_ device: Int) -> SessionPeer {
        SessionPeer(
            id: LobbySchedule.name(of: device), deviceClass: .unknown, appInstanceID: "1", topology: .localNetwork)
    }

    private func launch(_ device: Int) {
        guard apps[device] == nil else { return }
        launches += 1
        note(launches > schedule.devices ? "relaunch" : "launch", "\(LobbySchedule.Step.launch(device))")
        var random = SplitMix64(seed: schedule.seed ^ launches << 32 ^ UInt64(device) << 56)
        let seed = random.next()
        disks[device] = SimulatedDisk(disks[device].contents, durability: .memory, staysOff: true)
        let store = schedule.keepers.contains(device) ? disks[device] : nil
        let peer = peer(device)
        var configuration = DeliveryConfiguration()
        configuration.seed = random.next()
        do {
            let plain = try network.makeTransport(localPeer: peer, configuration: configuration, store: store)
            var transport: any SessionSyncTransport = isRecorded ? DiagnosticsSession(wrapping: plain) : plain
            if breaks(.staleByStamp) { transport = StampComparingTransport(wrapped: transport) }
            let made = Locked<LobbyApp?>(nil)
            onMain { [ledger, log, network, schedule, transport] in
                let app = LobbyApp(
                    device: device, transport: transport, clock: network.clock(of: peer), store: store,
                    membersMax: schedule.membersMax, seed: seed, ledger: ledger,
                    log: { [weak network] line in
                        let time = network.map { Int($0.elapsed / .milliseconds(1)) } ?? 0
                        log.withLock { $0.append("\(time) ms \(LobbySchedule.name(of: device)): \(line)") }
                    })
                made.withLock { $0 = app }
            }
            apps[device] = made.withLock { $0 }
        } catch {
            ledger.fail("a transport couldn't start: \(error)")
        }
    }

    private func crash(_ device: Int, losesStore: Bool = false) {
        let invitation = views().first { $0.device == device }?.invitation
        guard let app = apps[device].take() else { return }
        remembered[device] = losesStore || !schedule.keepers.contains(device) ? nil : invitation?.number
        note(losesStore ? "lost store" : "crash", "\(LobbySchedule.Step.crash(device, losesStore: losesStore))")
        disks[device].turnOff()
        if losesStore { disks[device].contents = .init() }
        ledger.crash(device, losesStore: losesStore || !schedule.keepers.contains(device))
        onMain { app.crash() }
        network.crash(peer(device))
        thread.runAll()
    }

    private func note(_ kind: String, _ line: String? = nil) {
        faults[kind, default: 0] += 1
        let time = Int(network.elapsed / .milliseconds(1))
        log.withLock { $0.append("\(time) ms -- \(line ?? kind)") }
    }
}
