import Foundation
import MeshBase
import MeshEngine
import MeshIdentity
import MeshSeries
import MeshSession
import MeshSimulatedWatch
import MeshSimulation
import MeshStorage
import MeshToolOutput
import MeshTransport
import MeshWatchConnectivityTransport

/// A phone and a watch that share a tally, on one thread and in virtual time.
@available(macOS 15.0, iOS 18.0, watchOS 11.0, tvOS 18.0, visionOS 2.0, *)
struct EnergyRun {
    private static let step = Duration.milliseconds(20)

    private let scenario: EnergyScenario
    private let thread: SimulationThread
    // The seed affects only delays.
    private let pair = SimulatedWatchPair(seed: 51, traceLimit: 1_000_000)
    private let devices: [EnergyDevice]

    /// Plays a scenario and returns the counts of each of its spans.
    /// - Throws: `ToolError` if the devices don't end with equal states.
    static func counts(of scenario: EnergyScenario) throws -> [EnergyCounts] {
        try SimulationThread.run { thread in
            Result { try EnergyRun(scenario, thread).counts() }
        }.get()
    }

    private init(_ scenario: EnergyScenario, _ thread: SimulationThread) throws {
        self.scenario = scenario
        self.thread = thread
        devices = try [pair.phone, pair.watch].enumerated().map { [clock = pair.clock] index, device in
            guard let session = device.launch() else { throw ToolError("the app of the \(device) didn't launch") }
            return try EnergyDevice(index, session, clock)
        }
    }

    private func counts() throws -> [EnergyCounts] {
        let spans = scenario.spans
        let seconds = spans.map { Int($0.end / .seconds(1)) }.max() ?? 0
        let tapped = Dictionary(scenario.taps.map { ($0.second, $0.device) }) { first, _ in first }
        // Total commits of both stores after each second.
        var commits = [0]
        for second in 0..<seconds {
            if let device = tapped[second] { devices[device].tap() }
            devices[1].measure(scenario, heartRate: 120 + second % 40)
            advance(to: .seconds(second + 1))
            commits.append(devices.reduce(0) { $0 + $1.store.written.commits })
        }
        try check()
        let sent = pair.trace
        defer { end() }
        return spans.map { span in
            var counts = EnergyCounts(span)
            counts.writes = commits[Int(span.end / .seconds(1))] - commits[Int(span.from / .seconds(1))]
            counts.add(sent, in: span)
            return counts
        }
    }

    private func advance(to end: Duration) {
        while pair.elapsed < end {
            thread.runAll()
            pair.advance(by: Self.step)
            thread.runAll()
        }
    }

    /// Throws if the devices' states differ: counts mean nothing if an event is missing.
    private func check() throws {
        let views = devices.map { device in
            let view = Locked<EnergyFeature.State?>(nil)
            device.look { tally in view.withLock { $0 = tally } }
            thread.runAll()
            return view.withLock { $0 }
        }
        if let failure = devices.lazy.compactMap(\.failure).first { throw ToolError(failure) }
        guard views[0] == views[1], views[0]?.taps == scenario.taps.count else {
            throw ToolError("'\(scenario.rawValue)' ended with \(views.map { $0.map { "\($0)" } ?? "no session" })")
        }
    }

    private func end() {
        for device in devices { device.end() }
        thread.runAll()
    }
}

extension EnergyCounts {
    fileprivate mutating func add(_ trace: [SimulatedWatchTraceEntry], in span: EnergySpan) {
        var last: Duration?
        for entry in trace {
            guard case .sent(let lane, _, let byteCount) = entry.event else { continue }
            defer { last = entry.time }
            guard entry.time >= span.from, entry.time < span.end else { continue }
            messages += 1
            bytes += byteCount
            let gap = last.map { entry.time - $0 } ?? .seconds(60)
            if gap > .milliseconds(200) { bursts200ms += 1 }
            if gap > .seconds(2) { bursts2s += 1 }
            switch lane {
            case .message, .reply: lanes.message += 1
            case .userInfo, .file: lanes.userInfo += 1
            case .context: lanes.context += 1
            }
        }
    }
}

/// The app on one device.
@available(macOS 15.0, iOS 18.0, watchOS 11.0, tvOS 18.0, visionOS 2.0, *)
private final class EnergyDevice: Sendable {
    let store = CountingStore(MemoryStore())
    private let transport: WatchConnectivitySessionSyncTransport
    private let session = Locked<SessionOf<EnergyFeature>?>(nil)
    private let problem = Locked<String?>(nil)

    private static let sessionID = UUID(uuid: (0x5E, 0x55, 0x10, 0, 0, 0, 0x80, 0, 0x80, 0, 0, 0, 0, 0, 0, 51))

    init(_ index: Int, _ session: WCSession, _ clock: SimulatedWatchClock) throws {
        var configuration = DeliveryConfiguration.watchConnectivity
        configuration.seed = UInt64(index + 1)
        let peer = SessionPeer(
            id: index == 0 ? "phone" : "watch", deviceClass: index == 0 ? .phone : .watch, appInstanceID: "energy",
            topology: .pairedCompanion)
        transport = try WatchConnectivitySessionSyncTransport(
            localPeer: peer, session: session, store: store, configuration: configuration, clock: clock)
        var options = SyncedSessionConfiguration<EnergyFeature.State, EnergyFeature.Event>(clock: clock)
        options.incarnation = UInt32(index + 1)
        let random = Locked(SplitMix64(seed: UInt64(index + 1)))
        options.randomSeed = { random.withLock { $0.next() } }
        Task { @MainActor [options] in await self.open(options) }
    }

    var failure: String? { problem.withLock { $0 } }

    @MainActor private func open(_ configuration: SyncedSessionConfiguration<EnergyFeature.State, EnergyFeature.Event>)
        async
    {
        do {
            let session = try await SessionOf<EnergyFeature>.open(
                EnergyFeature(), sessionID: Self.sessionID, over: transport, store: store,
                configuration: configuration)
            session.start()
            self.session.withLock { $0 = session }
        } catch {
            problem.withLock { $0 = "a session couldn't open: \(error)" }
        }
    }

    func tap() {
        perform { _ = try $0.submit(.tap) }
    }

    func measure(_ scenario: EnergyScenario, heartRate: Int) {
        perform { session in
            if scenario.showsHeartRate { try session.show(heartRate, as: .heartRate) }
            if scenario.recordsHeartRate { try session.record(heartRate, in: .heartRate) }
        }
    }

    func look(_ body: @escaping @Sendable (EnergyFeature.State) -> Void) {
        perform { body($0.state) }
    }

    func end() {
        perform { $0.stop() }
        transport.delivery.abandon()
        session.withLock { $0 = nil }
    }

    private func perform(_ body: @escaping @MainActor @Sendable (SessionOf<EnergyFeature>) throws -> Void) {
        Task { @MainActor in
            guard let session = session.withLock({ $0 }) else { return }
            do { try body(session) } catch { problem.withLock { $0 = "\(error)" } }
        }
    }
}

/// A state of seven integers, like that of an app that counts laps.
private struct EnergyFeature: SessionFeature {
    static let featureID = "tally"

    struct State: Codable, Sendable, Equatable {
        var taps = 0
        var laps = 0
        var pauses = 0
        var sets = 0
        var notes = 0
        var goals = 0
        var steps = 0
    }

    enum Event: Codable, Sendable { case tap }

    let initialState = State()

    func reduce(state: inout State, event: Event, context: SessionEventContext) { state.taps += 1 }
}

extension EphemeralKey<Int> {
    fileprivate static let heartRate = EphemeralKey("heartRate")
}

extension Series<Int> {
    fileprivate static let heartRate = Series("heartRate")
}
