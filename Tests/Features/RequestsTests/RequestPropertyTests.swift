import Foundation
import MeshBase
import MeshConnection
import MeshIdentity
import MeshScenarioTransport
import MeshStorage
import MeshTransport
import Testing

@testable import MeshRequests

/// On any network and with any process ends: each request that reported success ran once, nothing ran twice, and each
/// request that was promised to arrive ran.
@Suite struct RequestPropertyTests {
    /// The seeds. For another number of them, set SESSIONMESH_REQUEST_SEEDS=1000.
    static let seeds: [UInt64] = {
        let count = ProcessInfo.processInfo.environment["SESSIONMESH_REQUEST_SEEDS"].flatMap(UInt64.init)
        return Array(1...max(1, count ?? 12))
    }()

    @Test(.serialized, arguments: seeds)
    func `Despite loss, duplicates, partitions, lies and relaunches, every request runs at most once`(seed: UInt64)
        async throws
    {
        let run = try PropertyRun(seed: seed)
        try await run.play(steps: 40)
        let complaints = try await run.settle()
        #expect(complaints.isEmpty, "seed \(seed)")
    }

    @Test func `The check detects a fault`() {
        var counts = PropertyRun.Counts()
        counts.ran = [1: 2, 3: 1]
        counts.succeeded = [1, 2]
        counts.promised = [3, 4]
        #expect(counts.complaints.count == 4)
    }
}

/// A phone that sends requests and a watch that answers, both with stores, under random events.
final class PropertyRun: Sendable {
    struct Counts {
        var ran: [Int: Int] = [:]
        var succeeded: Set<Int> = []
        /// Fire-and-forget requests that were accepted to be kept.
        var promised: Set<Int> = []

        var complaints: [String] {
            ran.filter { $0.value > 1 }.map { "\($0.key) ran \($0.value) times" }
                + succeeded.filter { ran[$0] != 1 }.map { "\($0) succeeded and ran \(ran[$0] ?? 0) times" }
                + promised.filter { ran[$0] == nil }.map { "\($0) was promised but didn't run" }
        }
    }

    private struct Process {
        let device: Device
        let store: MortalStore
        let transportStore: MortalStore
    }

    private struct State {
        var random: SplitMix64
        var phone: Process?
        var watch: Process?
        var calls: [Pending<Void>] = []
        var next = 0
        var counts = Counts()
    }

    private let world: World
    private let lanes: [LinkLane: PayloadLimit]
    private let state: Locked<State>
    private let stores = ["phone": MemoryStore(), "watch": MemoryStore()]
    private let transportStores = ["phone": MemoryStore(), "watch": MemoryStore()]

    init(seed: UInt64) throws {
        world = World(seed: seed, conditions: .rough)
        let allLanes = [ScenarioLanes.network, ScenarioLanes.datagrams, ScenarioLanes.paired, ScenarioLanes.streams]
        lanes = allLanes[Int(seed % 4)]
        state = Locked(State(random: SplitMix64(seed: seed)))
        world.network.setClockOffset(.seconds(draw(600) - 300), of: watch)
        try launch(phone)
        try launch(watch)
    }

    private func draw(_ bound: Int) -> Int { state.withLock { Int.random(in: 0..<bound, using: &$0.random) } }

    func play(steps: Int) async throws {
        await world.run(for: .seconds(2))
        for _ in 0..<steps {
            switch draw(22) {
            case 0..<10: ask()
            case 10..<13: sendWithoutReply()
            case 13: world.network.partition([phone], [watch])
            case 14: world.network.partition(from: phone, to: watch)
            case 15: world.network.partition(from: watch, to: phone)
            case 16, 17: world.network.heal()
            case 18: try launch(watch)
            case 19: try launch(phone)
            case 20: world.network.setReachable([true, false, nil][draw(3)], of: watch, seenBy: phone)
            default: world.network.setReachable([true, false, nil][draw(3)], of: phone, seenBy: watch)
            }
            await world.run(for: .milliseconds(10 * draw(150)))
        }
    }

    /// - Returns: the violations.
    func settle() async throws -> [String] {
        world.network.heal()
        world.network.setReachable(nil, of: watch, seenBy: phone)
        world.network.setReachable(nil, of: phone, seenBy: watch)
        await world.run { self.state.withLock { $0.calls.allSatisfy(\.isOver) } }
        await world.run(within: .seconds(300)) {
            self.state.withLock { state in state.counts.promised.allSatisfy { state.counts.ran[$0] != nil } }
        }
        await world.run(for: .seconds(20))
        return state.withLock { $0.counts.complaints }
    }

    /// Ends the peer's process, if there is one, and starts the next.
    private func launch(_ peer: SessionPeer) throws {
        let old = state.withLock { peer.id == phone.id ? $0.phone : $0.watch }
        // A real process ends at once. Here the transport ends first: it mustn't finish messages that the ledger no longer takes.
        old?.transportStore.die()
        world.network.crash(peer)
        old?.store.die()
        let store = MortalStore(stores[peer.id] ?? MemoryStore())
        let transportStore = MortalStore(transportStores[peer.id] ?? MemoryStore())
        let device = try world.device(peer, lanes: lanes, store: store, transportStore: transportStore)
        let process = Process(device: device, store: store, transportStore: transportStore)
        let pauses = Requester(device.connection)
        device.requests.register(Add.self) { [self] add in
            note(add.left)
            try await pauses.pause(.milliseconds(add.right))
            return add.left
        }
        device.requests.register(Log.self) { [self] log in
            note(log.line)
            return VoidResponse()
        }
        state.withLock { state in
            if peer.id == phone.id {
                state.phone = process
            } else {
                state.watch = process
            }
        }
    }

    /// Records a run. A handler runs only after its process has written that it does, so never after the process's end.
    private func note(_ number: Int) { state.withLock { $0.counts.ran[number, default: 0] += 1 } }

    private func ask() {
        let strategy = DeliveryStrategy.allCases[draw(5)]
        let policy = [RetryPolicy.default, .none, .patient][draw(3)]
        let delay = draw(4) == 0 ? draw(12_000) : draw(300)
        let (number, process) = next()
        guard let requests = process?.device.requests else { return }
        let call = Pending { [self] in
            let answer = try? await requests.send(
                Add(left: number, right: delay), strategy: strategy, retryPolicy: policy)
            if answer == number { state.withLock { _ = $0.counts.succeeded.insert(number) } }
        }
        state.withLock { $0.calls.append(call) }
        if draw(10) == 0 { call.task.cancel() }
    }

    private func sendWithoutReply() {
        let (number, process) = next()
        guard let process else { return }
        let call = Pending { [self] in
            let isKept = await process.device.requests.sendWithoutReply(Log(line: number), strategy: .queueOnly)
            if isKept { state.withLock { _ = $0.counts.promised.insert(number) } }
        }
        state.withLock { $0.calls.append(call) }
    }

    private func next() -> (Int, Process?) {
        state.withLock { state in
            state.next += 1
            return (state.next, state.phone)
        }
    }
}
