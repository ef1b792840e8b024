import MeshBase
import MeshDelivery
import MeshFoundation
import MeshIdentity
import MeshSimulatedWatch
import MeshStorage
import MeshWatchConnectivityTransport

/// One launch of an app on a phone or a watch.
protocol PairApp: Sendable {
    var clock: AppClock { get }
    /// Called when the system ends the app.
    func crash()
}

/// The parameters of an app's launch.
@available(macOS 15.0, iOS 18.0, watchOS 11.0, tvOS 18.0, visionOS 2.0, *)
struct PairLaunch {
    let device: Int
    let session: WCSession
    let disk: SimulatedDisk
    let clock: AppClock
    /// The number of this launch among the launches of all devices, from 1.
    let number: UInt64
    /// Differs between launches.
    let seed: UInt64

    func transport(
        store: (any SessionStore)?, seed: UInt64
    ) throws -> WatchConnectivitySessionSyncTransport {
        var configuration = DeliveryConfiguration.watchConnectivity
        configuration.seed = seed
        return try WatchConnectivitySessionSyncTransport(
            localPeer: SessionPeer.ofPair(device), session: session, store: store, configuration: configuration,
            clock: clock)
    }
}

/// A base class for one seed of the apps of a phone and its watches. Subclasses launch, suspend and kill apps, move
/// devices out of reach, and cut the power.
@available(macOS 15.0, iOS 18.0, watchOS 11.0, tvOS 18.0, visionOS 2.0, *)
class PairRun<App: PairApp> {
    let seed: UInt64
    let pair: SimulatedWatchPair
    let thread: SimulationThread
    var random: SplitMix64
    /// The disk of each device's current launch.
    let disks: Locked<[SimulatedDisk]>
    let apps: Locked<[App?]>
    let failure = Locked<String?>(nil)
    /// Seconds by which each device's wall clock is ahead.
    let aheadSeconds: [Locked<TimeInterval>]
    private(set) var faults: [String: Int] = [:]
    /// The time at which each device's app is launched again in the foreground; nil if the app isn't away.
    var returns: [Duration?]
    /// The time at which the devices come into reach of each other again; nil if they are in reach.
    var meeting: Duration?
    var hasLostStore = false
    /// The time from the last change until all checks passed.
    var equalAfter = Duration.zero

    static var step: Duration { .milliseconds(20) }
    /// The step while nothing is due for minutes or days, because a device is away.
    private static var longStep: Duration { .seconds(60) }

    init(
        seed: UInt64, conditions: SimulatedWatchConditions = .calm, watches: Int = 1, thread: SimulationThread,
        traceLimit: Int
    ) {
        self.seed = seed
        self.thread = thread
        random = SplitMix64(seed: seed)
        pair = SimulatedWatchPair(seed: seed, conditions: conditions, watches: watches, traceLimit: traceLimit)
        disks = Locked((0...watches).map { _ in SimulatedDisk(durability: .memory, staysOff: true) })
        apps = Locked(Array(repeating: nil, count: watches + 1))
        aheadSeconds = (0...watches).map { _ in Locked(0) }
        returns = Array(repeating: nil, count: watches + 1)
    }

    var devices: [SimulatedDevice] { [pair.phone] + pair.watches }

    /// - Parameters:
    ///   - ended: Called when a device's app has ended.
    ///   - make: Makes the next launch of an app.
    final func install(
        ended: @escaping @Sendable (_ device: Int) -> Void = { _ in },
        make: @escaping @Sendable (PairLaunch) throws -> App
    ) {
        let launches = Locked<UInt64>(0)
        for (index, device) in devices.enumerated() {
            device.onLaunch { [clock = pair.clock, ahead = aheadSeconds[index], seed, apps, disks, failure] session in
                let number = launches.withLock { count in
                    count += 1
                    return count
                }
                let disk = disks.withLock { disks in
                    disks[index] = SimulatedDisk(disks[index].contents, durability: .memory, staysOff: true)
                    return disks[index]
                }
                do {
                    let app = try make(
                        PairLaunch(
                            device: index, session: session, disk: disk,
                            clock: AppClock(clock, on: device, aheadSeconds: ahead), number: number,
                            seed: (seed &+ 1) &* 0x9E37_79B9_7F4A_7C15 ^ number << 40 ^ number << 17))
                    apps.withLock { $0[index] = app }
                } catch {
                    failure.withLock { $0 = "an app couldn't start: \(error)" }
                }
            }
            device.onTerminate { [apps, disks] in
                disks.withLock { $0[index].turnOff() }
                ended(index)
                let app = apps.withLock { apps in apps[index].take() }
                app?.crash()
            }
        }
    }

    /// - Parameter trace: Called with everything that happened on the devices, if the run failed.
    final func outcome(_ trace: SeedSimulation.Trace?) -> SeedOutcome {
        var outcome = SeedOutcome(seed: seed)
        outcome.failure = play()
        for device in devices { device.kill() }
        thread.runAll()
        outcome.faults = faults
        outcome.simulatedSeconds = pair.elapsed / .seconds(1)
        count(&outcome)
        if outcome.failure != nil { trace?(pair.report) }
        return outcome
    }

    // MARK: - For subclasses to override

    /// - Returns: The failure, or nil.
    func play() -> String? { nil }
    func count(_ outcome: inout SeedOutcome) {}
    /// Called after time has passed and before the tasks that became ready run. Override it to cut the power then.
    func maybeCutPower() {}
    func stepHasPassed() { thread.runAll() }
    /// Called when a long step of an absence begins.
    func useWhileAlone() {}

    // MARK: - Time

    final func advance(by duration: Duration) {
        let end = pair.elapsed + duration
        while pair.elapsed < end || isAlone {
            if let meeting, meeting <= pair.elapsed { meet() }
            if isAlone { useWhileAlone() }
            for index in devices.indices {
                if let time = returns[index], time <= pair.elapsed {
                    returns[index] = nil
                    devices[index].launch()
                }
            }
            pass(isAlone ? Self.longStep : min(Self.step, max(end - pair.elapsed, .zero)))
            for index in devices.indices { endWithoutPower(index) }
            stepHasPassed()
        }
    }

    final func pass(_ duration: Duration) {
        thread.runAll()
        for app in apps.withLock({ $0 }) { app?.clock.resumeCalls() }
        pair.advance(by: duration)
        maybeCutPower()
        thread.runAll()
    }

    /// True if an app or a device is away, and none returns within two long steps.
    private var isAlone: Bool {
        let due = (returns + [meeting]).compactMap { $0 }.min()
        return due.map { $0 - pair.elapsed > Self.longStep * 2 } ?? false
    }

    // MARK: - Faults

    final func note(_ kind: String, _ index: Int = 0, for time: Duration? = nil, _ body: () -> Void) {
        faults[kind, default: 0] += 1
        body()
        if let time { returns[index] = pair.elapsed + time }
    }

    final func moveApart(for duration: Duration, as kind: String = "apart") {
        guard meeting == nil else { return }
        note(kind) { pair.watch.isInRange = false }
        meeting = pair.elapsed + duration
    }

    final func meet() {
        meeting = nil
        pair.watch.isInRange = true
    }

    /// Ends all faults: no commit fails, and all devices are in reach and in the foreground.
    final func heal() {
        meet()
        for disk in disks.withLock({ $0 }) { disk.prepare(.succeeds) }
        while returns.contains(where: { $0 != nil }) { advance(by: Self.step) }
    }

    /// Kills the app of a device whose power failed, and plans its next launch.
    private func endWithoutPower(_ index: Int) {
        guard returns[index] == nil, disks.withLock({ $0[index].isOff }) else { return }
        note("power cut", index, for: .milliseconds(Int64(20 + random.upTo(3000)))) { devices[index].kill() }
    }

    final func replaceStore(of index: Int, with contents: StoreContents, as kind: String, for time: Duration) {
        note(kind, index, for: time) {
            devices[index].kill()
            disks.withLock { $0[index].contents = contents }
        }
    }
}

extension SessionPeer {
    /// The phone, or one of its watches.
    static func ofPair(_ device: Int) -> SessionPeer {
        SessionPeer(
            id: device == 0 ? "phone" : "watch \(device)", deviceClass: device == 0 ? .phone : .watch,
            appInstanceID: "simulation", topology: .pairedCompanion)
    }
}
