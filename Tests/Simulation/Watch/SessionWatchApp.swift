import MeshBase
import MeshDelivery
import MeshEngine
import MeshFoundation
import MeshIdentity
import MeshSession
import MeshSimulatedWatch
import MeshStorage
import MeshTransport
import MeshWatchConnectivityTransport

/// One launch of an app that shows a session.
@available(macOS 15.0, iOS 18.0, watchOS 11.0, tvOS 18.0, visionOS 2.0, *)
final class SessionWatchApp: PairApp {
    typealias Feature = SessionWatchFeature
    typealias Policy = AcceptingConflictPolicy<[UInt32], Feature.Event>
    typealias Session = SyncedSession<[UInt32], Feature.Event, Feature.Reducer, Policy>

    let clock: AppClock
    private let device: Int
    let transport: WatchConnectivitySessionSyncTransport
    private let session = Locked<Session?>(nil)
    private let hasCrashed = Locked(false)
    private let versions: Feature.Versions
    private let failure: Locked<String?>
    /// Devices whose sessions have found that the other's state differs.
    private let suspicious: Locked<Set<Int>>
    /// The IDs of taps that the other device isn't known to hold.
    private let unsettled = Locked<[UInt32: UUID]>([:])

    init(
        _ launch: PairLaunch, store: SimulatedDisk?, versions: Feature.Versions,
        failure: Locked<String?>, suspicious: Locked<Set<Int>>
    ) throws {
        self.versions = versions
        self.suspicious = suspicious
        device = launch.device
        clock = launch.clock
        self.failure = failure
        let seed = launch.seed
        transport = try launch.transport(store: store, seed: seed)
        Task { @MainActor in await self.open(store, seed) }
    }

    private static let sessionID = UUID(uuid: (0x5E, 0x55, 0x10, 0, 0, 0, 0x80, 0, 0x80, 0, 0, 0, 0, 0, 0, 10))

    @MainActor private func open(_ store: SimulatedDisk?, _ seed: UInt64) async {
        var configuration = SyncedSessionConfiguration<[UInt32], Feature.Event>()
        let isOdd = device == 1 && versions != .equal
        if isOdd, versions == .differInNumber { configuration.reducerVersion = 2 }
        configuration.incarnation = UInt32(truncatingIfNeeded: seed >> 16) | 1
        // Copies are small here. Every second launch sends them in pieces anyway.
        if seed >> 33 & 1 == 0 { configuration.copyMessageBytesMax = 40 }
        configuration.catchUpTime = .zero
        configuration.measure = { work in
            work()
            return .zero
        }
        let random = Locked(SplitMix64(seed: seed))
        configuration.randomSeed = { random.withLock { $0.next() } }
        configuration.now = { [clock] in clock.wall }
        configuration.uptime = { [clock] in clock.elapsed }
        configuration.wait = { [clock] in try await clock.wait($0) }
        do {
            let session = try await Session.open(
                sessionID: Self.sessionID, featureID: "taps", transport: transport, store: store,
                initialState: [],
                reducer: Feature.Reducer(isOdd: isOdd), conflictPolicy: Policy(), configuration: configuration)
            guard !hasCrashed.withLock({ $0 }) else { return }
            let alarms = session.alarms()
            Task { [suspicious, device] in
                for await alarm in alarms {
                    if case .stateDiverged = alarm { suspicious.withLock { _ = $0.insert(device) } }
                }
            }
            session.start()
            self.session.withLock { $0 = session }
        } catch {
            guard !hasCrashed.withLock({ $0 }) else { return }
            failure.withLock { $0 = "a session couldn't start: \(error)" }
        }
    }

    /// - Parameter timers: The ledger for a timer that starts with the tap; nil starts none.
    func tap(
        _ number: UInt32, ledger: Locked<TapLedger>, timers: Locked<TimerLedger>?, urgency: SessionUrgency = .normal
    ) {
        Task { @MainActor in
            guard let session = session.withLock({ $0 }) else { return }
            do {
                let (moment, error) = (session.now, session.clock.errorSeconds)
                let event = Feature.Event(number: number, wasTappedHere: true)
                let tap = try session.submit(event, at: moment, urgency: urgency)
                timers?.withLock { $0.begin(number, at: moment, error: error, elapsed: clock.elapsed) }
                ledger.withLock { $0.add(number, on: device) }
                unsettled.withLock { $0[number] = tap.metadata.eventID }
            } catch {
                failure.withLock { $0 = "submit threw \(error)" }
            }
        }
    }

    func noteTaps(in ledger: Locked<TapLedger>) {
        let taps = unsettled.withLock { $0 }
        guard !taps.isEmpty else { return }
        Task { @MainActor in
            guard let session = session.withLock({ $0 }), !hasCrashed.withLock({ $0 }) else { return }
            for (number, id) in taps {
                switch session.delivery(of: id).step {
                case .accepted, .sent: ledger.withLock { $0.note(number, .stored) }
                case .held, .confirmed:
                    ledger.withLock { $0.note(number, .held) }
                    unsettled.withLock { $0[number] = nil }
                case .unknown, .submitted: break
                }
            }
        }
    }

    func look(_ look: @escaping @Sendable ([UInt32]) -> Void) {
        Task { @MainActor in
            if let session = session.withLock({ $0 }) { look(session.state) }
        }
    }

    /// - Parameter look: Called if the session isn't a member of a group.
    func lookForNewcomer(_ look: @escaping @Sendable () -> Void) {
        Task { @MainActor in
            if let session = session.withLock({ $0 }), !session.isMember { look() }
        }
    }

    func checkTimers(_ timers: Locked<TimerLedger>) {
        Task { @MainActor in
            guard let session = session.withLock({ $0 }), !hasCrashed.withLock({ $0 }) else { return }
            let fault = timers.withLock { $0.fault(in: session, elapsed: clock.elapsed) }
            if let fault { failure.withLock { $0 = "device \(device): \(fault)" } }
        }
    }

    /// - Parameter look: Called with the session clock's time and its maximum error, once the session is a member.
    func lookAtClock(_ look: @escaping @Sendable (Date, TimeInterval) -> Void) {
        Task { @MainActor in
            guard let session = session.withLock({ $0 }), session.isMember, let error = session.clock.errorSeconds
            else { return }
            look(session.now, error)
        }
    }

    func crash() {
        hasCrashed.withLock { $0 = true }
        clock.end()
        let session = session.withLock { $0.take() }
        Task { @MainActor in session?.stop() }
        transport.delivery.abandon()
    }
}
