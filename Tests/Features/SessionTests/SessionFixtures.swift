import Foundation
import MeshBase
import MeshEngine
import MeshIdentity
import MeshScenarioTransport
import MeshSession
import MeshStorage
import MeshTestSupport
import MeshTransport
import Testing

struct Counter: Codable, Sendable, Equatable {
    var total = 0
    var isOver = false
    /// The amounts, in the order of their events.
    var amounts: [Int] = []
}

enum Tap: Codable, Sendable, Equatable {
    case add(Int)
    case end
}

struct CounterReducer: SessionSyncReducer {
    func reduce(state: inout Counter, event: Tap, context: SessionEventContext) {
        switch event {
        case .add(let amount):
            state.total += amount
            state.amounts.append(amount)
        case .end: state.isOver = true
        }
    }
}

typealias CounterSession = SyncedSession<Counter, Tap, CounterReducer, AcceptingConflictPolicy<Counter, Tap>>
typealias CounterConfiguration = SyncedSessionConfiguration<Counter, Tap>
typealias CounterArchive = SessionArchive<Counter, Tap>
typealias CounterEngine = SessionSyncEngine<Counter, Tap, CounterReducer, AcceptingConflictPolicy<Counter, Tap>>

let phone = SessionPeer(id: "phone", deviceClass: .phone, appInstanceID: "phone.1", topology: .pairedCompanion)
let watch = SessionPeer(id: "watch", deviceClass: .watch, appInstanceID: "watch.1", topology: .pairedCompanion)
let tablet = SessionPeer(id: "tablet", deviceClass: .tablet, appInstanceID: "tablet.1", topology: .pairedCompanion)
let sessionID = UUID(uuid: (7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7))

/// A network, and the tasks that sleep in its virtual time.
@MainActor final class VirtualWorld {
    let network: ScenarioNetwork
    private var sleepers: [(id: Int, due: Duration, wake: CheckedContinuation<Void, Never>)] = []
    private var nextID = 0

    init(seed: UInt64, conditions: ScenarioConditions = .calm) {
        network = ScenarioNetwork(seed: seed, conditions: conditions)
    }

    var now: Date { network.now }

    func sleep(_ duration: Duration) async throws {
        nextID += 1
        let id = nextID
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                if Task.isCancelled { return continuation.resume() }
                sleepers.append((id, network.elapsed + duration, continuation))
            }
        } onCancel: {
            Task { @MainActor in self.wake { $0 == id } }
        }
        try Task.checkCancellation()
    }

    private func wake(_ isMeant: (Int) -> Bool) {
        let woken = sleepers.filter { isMeant($0.id) }
        sleepers.removeAll { isMeant($0.id) }
        for sleeper in woken.sorted(by: { ($0.due, $0.id) < ($1.due, $1.id) }) { sleeper.wake.resume() }
    }

    /// Advances time by ten milliseconds and lets every task run as far as it can.
    func step() async {
        network.advance(by: .milliseconds(10))
        let due = Set(sleepers.filter { $0.due <= network.elapsed }.map(\.id))
        if !due.isEmpty { wake { due.contains($0) } }
        for _ in 0..<12 { await Task.yield() }
    }

    func run(_ duration: Duration) async {
        let end = network.elapsed + duration
        while network.elapsed < end { await step() }
    }

    /// Advances time until the condition holds. Gives up after a time that no test here needs.
    func settle(
        within patience: Duration = .seconds(120), until condition: () -> Bool,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async {
        let end = network.elapsed + patience
        while !condition() {
            guard network.elapsed < end else {
                Issue.record("nothing settled; seed \(network.seed)", sourceLocation: sourceLocation)
                return
            }
            await step()
        }
    }

    func settle() async { await run(.seconds(5)) }

    /// Runs long enough for new transports to find each other.
    func meet() async { await run(.milliseconds(500)) }

    // MARK: - Devices

    func transport(_ peer: SessionPeer) -> ScenarioSessionSyncTransport { network.makeTransport(localPeer: peer) }

    /// - Parameter clockAhead: the error of the device's clock, in seconds.
    func configuration(
        incarnation: UInt32, clockAhead: TimeInterval = 0, _ configure: (inout CounterConfiguration) -> Void = { _ in }
    ) -> CounterConfiguration {
        var configuration = CounterConfiguration()
        adapt(&configuration, incarnation: incarnation, clockAhead: clockAhead)
        configure(&configuration)
        return configuration
    }

    /// Gives a session of any feature this world's time and seed.
    func adapt<State, Event>(
        _ configuration: inout SyncedSessionConfiguration<State, Event>, incarnation: UInt32,
        clockAhead: TimeInterval = 0
    ) {
        configuration.incarnation = incarnation
        let seeds = Locked(UInt64(incarnation) &* 7_919 &+ network.seed)
        configuration.randomSeed = {
            seeds.withLock { seed in
                seed = seed &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
                return seed
            }
        }
        configuration.now = { [network] in network.now.addingTimeInterval(clockAhead) }
        configuration.uptime = { [network] in network.elapsed }
        configuration.wait = { [weak self] in try await self?.sleep($0) }
        configuration.warn = { _ in }
        configuration.measure = { work in
            work()
            return .zero
        }
    }

    func session(
        _ transport: any SessionSyncTransport, incarnation: UInt32 = 1, clockAhead: TimeInterval = 0,
        configure: (inout CounterConfiguration) -> Void = { _ in }
    ) -> CounterSession {
        CounterSession(
            sessionID: sessionID, featureID: "counter", transport: transport, initialState: Counter(),
            reducer: CounterReducer(), conflictPolicy: AcceptingConflictPolicy(),
            configuration: configuration(incarnation: incarnation, clockAhead: clockAhead, configure))
    }

    /// Opens a session with the contents of its store.
    func opened(
        _ transport: any SessionSyncTransport, incarnation: UInt32 = 1, clockAhead: TimeInterval = 0,
        store: (any SessionStore)? = nil,
        configure: (inout CounterConfiguration) -> Void = { _ in }
    ) async throws -> CounterSession {
        try await CounterSession.open(
            sessionID: sessionID, featureID: "counter", transport: transport, store: store,
            initialState: Counter(), reducer: CounterReducer(), conflictPolicy: AcceptingConflictPolicy(),
            configuration: configuration(incarnation: incarnation, clockAhead: clockAhead, configure))
    }

    /// A phone and a watch, started, and members of one group.
    func pair(
        clockAhead: TimeInterval = 0, configure: (inout CounterConfiguration) -> Void = { _ in },
        sourceLocation: SourceLocation = #_sourceLocation
    ) async -> (phone: CounterSession, watch: CounterSession) {
        let here = session(transport(phone), incarnation: 1, configure: configure)
        let there = session(transport(watch), incarnation: 2, clockAhead: clockAhead, configure: configure)
        await meet()
        here.start()
        there.start()
        await settle(until: { here.isMember && there.isMember }, sourceLocation: sourceLocation)
        return (here, there)
    }
}

/// An engine whose caller uses only the reference's calls: it sends each event once, and a snapshot on request.
@MainActor final class ReferencePeer {
    private(set) var engine: CounterEngine
    let transport: any SessionSyncTransport
    private var tasks = OwnedTasks()
    private let now: @Sendable () -> Date

    init(_ transport: any SessionSyncTransport, now: @escaping @Sendable () -> Date) {
        self.transport = transport
        self.now = now
        engine = CounterEngine(
            sessionID: sessionID, featureID: "counter", localPeerID: transport.localPeer.id,
            payloadType: "counter.event", snapshotPayloadType: "counter.state", initialState: Counter(),
            reducer: CounterReducer(), conflictPolicy: AcceptingConflictPolicy())
        let (envelopes, snapshots) = (transport.receiveEnvelopes(), transport.receiveSnapshots())
        let requests = transport.receiveSnapshotRequests()
        tasks.hold([
            Task { [weak self] in for await envelope in envelopes { await self?.receive(envelope) } },
            Task { [weak self] in for await snapshot in snapshots { self?.receive(snapshot) } },
            Task { [weak self] in for await _ in requests { try? await self?.publish() } },
        ])
    }

    func submit(_ tap: Tap, publishes: Bool = true) async throws {
        let envelope = try engine.submitLocal(tap, at: now())
        try await transport.send(AnySessionSyncEnvelope(envelope), mode: .realtimeBestEffort, to: nil)
        if publishes { try await publish() }
    }

    func publish() async throws {
        let snapshot = try AnySessionSyncSnapshot(engine.makeSnapshot(at: now()))
        try await transport.sendSnapshot(snapshot, mode: .latestSnapshot, to: nil)
    }

    private func receive(_ erased: AnySessionSyncEnvelope) async {
        guard erased.metadata.payloadType == "counter.event", let tap = try? erased.decodePayload(as: Tap.self),
            let result = try? engine.receive(SessionSyncEnvelope(metadata: erased.metadata, payload: tap))
        else { return }
        if case .snapshotRequired = result { try? await transport.requestSnapshot(sessionID: sessionID, from: nil) }
    }

    private func receive(_ erased: AnySessionSyncSnapshot) {
        guard let state = try? erased.decodeState(as: Counter.self) else { return }
        _ = try? engine.applySnapshot(
            SessionSyncSnapshot(
                metadata: erased.metadata, revision: erased.revision, state: state,
                peerSequenceVector: erased.peerSequenceVector))
    }
}

/// A transport over another one that sends envelopes one by one: to change sends, a test overrides one method.
protocol WrappingTransport: TransportWrapper {}

extension WrappingTransport {
    func send(
        _ envelopes: [AnySessionSyncEnvelope], mode: SessionDeliveryMode, to peer: SessionPeer?,
        isolation: isolated (any Actor)?
    ) async throws {
        for envelope in envelopes { try await send(envelope, mode: mode, to: peer) }
    }
}

/// A store whose writes block a thread of their own: for a moment, or while they are held.
final class HeldStore: StoreWrapper {
    let wrapped: any SessionStore = MemoryStore()
    let isSlow = Locked(false)
    let holds = Locked(false)
    /// True while a write is held.
    let isHeld = Locked(false)

    var durability: StoreDurability { .process }

    func commit(_ batch: StoreBatch) throws {
        if isSlow.withLock({ $0 }) { Thread.sleep(forTimeInterval: 0.01) }
        while holds.withLock({ $0 }) {
            isHeld.withLock { $0 = true }
            Thread.sleep(forTimeInterval: 0.001)
        }
        try wrapped.commit(batch)
    }
}
