import Foundation
import MeshBase
import MeshEngine
import MeshIdentity
import MeshSimulatedWatch
import MeshTransport
import MeshWatchConnectivityTransport
import Testing

/// An app that was written for the reference library: its engine, an adapter of its own, and no store.
@MainActor
private final class OriginalApp {
    struct Reducer: SessionSyncReducer {
        func reduce(state: inout [String], event: String, context: SessionEventContext) { state.append(event) }
    }

    typealias Engine = SessionSyncEngine<[String], String, Reducer, AcceptingConflictPolicy<[String], String>>

    private let transport: WatchConnectivitySessionSyncTransport
    private let other: SessionPeer
    private let clock: SimulatedWatchClock
    private var engine: Engine
    private var tasks: [Task<Void, Never>] = []
    /// The screen's content: the results of the engine's calls.
    private(set) var shown: [String] = []
    private(set) var failures: [String] = []

    init(_ side: World.Side, in world: World) throws {
        transport = try world[side]
        other = World.peer(side == .phone ? .watch : .phone)
        clock = world.pair.clock
        engine = Engine(
            sessionID: sessionID, featureID: "workout", localPeerID: World.peer(side).id, payloadType: "test.text",
            snapshotPayloadType: "test.texts", initialState: [], reducer: Reducer(),
            conflictPolicy: AcceptingConflictPolicy())
    }

    func start() {
        let transport = transport
        tasks = [
            Task { [weak self] in for await envelope in transport.receiveEnvelopes() { self?.receive(envelope) } },
            Task { [weak self] in for await snapshot in transport.receiveSnapshots() { self?.receive(snapshot) } },
            Task { [weak self] in for await _ in transport.receiveSnapshotRequests() { self?.publish() } },
            Task { [weak self] in
                for await change in transport.reachabilityChanges() where change.isReachable { self?.publish() }
            },
        ]
        if let snapshot = transport.latestPeerSnapshot(featureID: "workout") { receive(snapshot) }
        askForSnapshot()
    }

    func stop() { for task in tasks { task.cancel() } }

    func tap(_ text: String) {
        attempt {
            let envelope = try engine.submitLocal(text, at: clock.wall)
            shown = engine.state
            let erased = try AnySessionSyncEnvelope(envelope)
            send { try await $0.send(erased, mode: .reliableEventually, to: $1) }
            publish()
        }
    }

    private func receive(_ erased: AnySessionSyncEnvelope) {
        attempt {
            let event = try erased.decodePayload(as: String.self)
            switch try engine.receive(SessionSyncEnvelope(metadata: erased.metadata, payload: event)) {
            case .applied(let state):
                shown = state
                publish()
            case .ignored: publish()
            case .duplicate: break
            case .snapshotRequired: askForSnapshot()
            }
        }
    }

    private func receive(_ erased: AnySessionSyncSnapshot) {
        attempt {
            let snapshot = SessionSyncSnapshot(
                metadata: erased.metadata, revision: erased.revision, state: try erased.decodeState(as: [String].self),
                peerSequenceVector: erased.peerSequenceVector)
            if case .applied(let state) = try engine.applySnapshot(snapshot) { shown = state }
        }
    }

    /// Publishes a snapshot as shipping adapters do: built manually, without a stamp. An app that has no events sends nothing.
    private func publish() {
        let store = engine.store
        guard !store.lastSequenceByPeerID.isEmpty else { return }
        attempt {
            let snapshot = try AnySessionSyncSnapshot(
                SessionSyncSnapshot(
                    metadata: SessionSyncMetadata(
                        sessionID: sessionID, featureID: "workout", sourcePeerID: engine.localPeerID,
                        sequence: store.nextLocalSequence, causalTimestamp: clock.wall, payloadType: "test.texts"),
                    revision: engine.allocateOutgoingSnapshotRevision(), state: store.state,
                    peerSequenceVector: store.lastSequenceByPeerID))
            send { try await $0.sendSnapshot(snapshot, mode: .latestSnapshot, to: $1) }
        }
    }

    private func askForSnapshot() { send { try await $0.requestSnapshot(sessionID: sessionID, from: $1) } }

    private func send(_ body: @escaping (WatchConnectivitySessionSyncTransport, SessionPeer) async throws -> Void) {
        Task { [transport, other] in try? await body(transport, other) }
    }

    private func attempt(_ body: () throws -> Void) {
        do { try body() } catch { failures.append("\(error)") }
    }
}

/// The reference's calls over WatchConnectivity, by apps that keep nothing.
@MainActor
@Suite struct OriginalAppTests {
    /// The seeds. For more, set `MESH_WATCH_SEEDS=200`, and `MESH_WATCH_FROM` for the first.
    nonisolated static let seeds: [UInt64] = {
        let environment = ProcessInfo.processInfo.environment
        let first = UInt64(environment["MESH_WATCH_FROM"] ?? "") ?? 0
        return Array(first..<(first + (UInt64(environment["MESH_WATCH_SEEDS"] ?? "") ?? 20)))
    }()

    @Test(arguments: seeds)
    func `Two apps show the same, and each tap once, within 30 seconds after one was killed in the middle`(
        seed: UInt64
    ) async throws {
        let run = try await run(seed)
        #expect(run.phone == run.watch, "seed \(seed)")
        #expect(run.phone.sorted() == run.taps.sorted(), "seed \(seed)")
    }

    /// Both users tap about five times a second, often at the same moment, so events cross all the time.
    private func run(_ seed: UInt64) async throws -> (phone: [String], watch: [String], taps: [String]) {
        let world = World(seed: seed, .calm)
        var random = SplitMix64(seed: seed)
        var apps: [World.Side: OriginalApp] = [:]
        func begin(_ side: World.Side) throws {
            try world.launch(side)
            apps[side] = try OriginalApp(side, in: world)
            apps[side]?.start()
        }
        for side in World.Side.allCases { try begin(side) }
        await advance(world, .seconds(2))

        let victim: World.Side = random.happens(rate: 0.5) ? .phone : .watch
        let death = 15 + random.upTo(10)
        var launch: Duration?
        var taps: [String] = []
        for tap in 0..<40 {
            if tap == death {
                apps.removeValue(forKey: victim)?.stop()
                world.kill(victim)
                launch = world.pair.elapsed + .milliseconds(Int64(random.upTo(4_000)))
            }
            if let time = launch, time <= world.pair.elapsed {
                launch = nil
                try begin(victim)
            }
            let isBoth = random.happens(rate: 0.5)
            let one: World.Side = random.happens(rate: 0.5) ? .phone : .watch
            for side in World.Side.allCases where isBoth || side == one {
                guard let app = apps[side] else { continue }
                app.tap("\(side) \(tap)")
                taps.append("\(side) \(tap)")
            }
            await advance(world, .milliseconds(Int64(random.upTo(400))))
        }
        if launch != nil { try begin(victim) }
        await advance(world, .seconds(30))
        for app in apps.values { #expect(app.failures == []) }
        for side in World.Side.allCases { world.kill(side) }
        return (apps[.phone]?.shown ?? [], apps[.watch]?.shown ?? [], taps)
    }

    private func advance(_ world: World, _ duration: Duration) async {
        let end = world.pair.elapsed + duration
        repeat {
            world.pair.advance(by: min(.milliseconds(20), end - world.pair.elapsed))
            for _ in 0..<20 { await Task.yield() }
        } while world.pair.elapsed < end
    }
}
