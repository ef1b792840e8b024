import Foundation
import MeshBase
import MeshEngine
import MeshIdentity
import MeshScenarioTransport
import MeshStorage
import MeshTransport
import Testing

@testable import MeshSession

struct Training: Codable, Sendable, Equatable, SessionIntentState {
    var step = 0
    var intents = SessionIntents<Ask, Int>()
}

struct Ask: Codable, Sendable, Hashable {
    var text = "next step"
}

enum TrainingEvent: Codable, Sendable, SessionIntentEvent {
    case intents(SessionIntentStep<Ask, Int>)
}

struct TrainingReducer: SessionSyncReducer {
    func reduce(state: inout Training, event: TrainingEvent, context: SessionEventContext) {
        switch event {
        case .intents(let step):
            if state.intents.apply(step, context: context) != nil { state.step += 1 }
        }
    }
}

typealias TrainingSession = SyncedSession<
    Training, TrainingEvent, TrainingReducer, AcceptingConflictPolicy<Training, TrainingEvent>
>
typealias TrainingService = SessionIntentService<
    Training, TrainingEvent, TrainingReducer, AcceptingConflictPolicy<Training, TrainingEvent>
>

/// One device is asked to act, and acts once.
@MainActor @Suite struct IntentTests {
    // MARK: - Asking

    @Test(arguments: 0..<20 as Range<UInt64>)
    func `the owner runs another device's intent once, and its answer arrives`(seed: UInt64) async throws {
        let world = TrainingWorld(seed: seed, conditions: .rough)
        let (here, there) = try await world.pair()
        let service = world.serve(there)
        await world.settle(until: { here.state.intents.owner == there.source })
        #expect(service.isOwner)
        for number in 1...3 {
            let answer = try await world.waiting { try await here.ask(Ask()) }
            #expect(answer == number, "seed \(seed)")
        }
        await world.settle(until: { here.state == there.state && here.state.step == 3 })
        #expect(world.beginnings.values.allSatisfy { $0 == 1 } && world.beginnings.count == 3)
    }

    @Test func `The owner asks itself while no peer is reachable`() async throws {
        let world = TrainingWorld(seed: 1)
        let alone = try await world.open(phone, incarnation: 1)
        let service = world.serve(alone)
        let answer = try await world.waiting { try await alone.ask(Ask()) }
        #expect(answer == 1 && service.isOwner && alone.state.step == 1)
    }

    @Test func `An intent is refused while no device serves`() async throws {
        let world = TrainingWorld(seed: 2)
        let (here, _) = try await world.pair()
        await #expect(throws: SessionIntentError.noServingDevice) { try await here.ask(Ask()) }
        #expect(here.state.intents.entries.isEmpty)
    }

    @Test func `The handler's error arrives with its text unchanged`() async throws {
        let world = TrainingWorld(seed: 3)
        let (here, there) = try await world.pair()
        let service = there.serve { _ in throw NoStepLeft() }
        await world.settle(until: { here.state.intents.owner == service.session.source })
        await #expect(throws: SessionIntentError.failed("Keine Übung übrig")) {
            try await world.waiting { try await here.ask(Ask()) }
        }
        #expect(here.state.step == 0)
    }

    @Test func `an intent expires and isn't started later`() async throws {
        let world = TrainingWorld(seed: 4)
        let (here, there) = try await world.pair()
        let service = world.serve(there)
        await world.settle(until: { here.state.intents.owner == service.session.source })
        world.network.partition([phone], [watch])
        await #expect(throws: SessionIntentError.lapsed) {
            try await world.waiting { try await here.ask(Ask(), lapsesAfter: .seconds(5)) }
        }
        world.network.heal()
        await world.settle(until: { there.state.intents.entries.count == 1 && here.state == there.state })
        #expect(world.beginnings.isEmpty)
        #expect(there.state.intents.entries.first?.progress == .settled(.lapsed))
    }

    @Test(arguments: [-3_600.0, 3_600], ["phone", "watch"])
    func `setting a clock neither expires an intent nor keeps it alive`(jump: TimeInterval, setter: String) async throws
    {
        let world = TrainingWorld(seed: 8)
        let clocks = WallClocks(phone: WallClock(world.network), watch: WallClock(world.network))
        let here = try await world.open(phone, incarnation: 1) { $0.now = clocks.phone.now }
        let there = try await world.open(watch, incarnation: 2) { $0.now = clocks.watch.now }
        await world.settle(until: { here.isMember && there.isMember })
        let service = world.serve(there)
        await world.settle(until: { here.state.intents.owner == service.session.source })
        for (age, outcome) in [(10, "1"), (2, "lapsed")] {
            world.network.partition([phone], [watch])
            let asking = Task {
                do { return "\(try await here.ask(Ask(), lapsesAfter: .seconds(age)))" } catch { return "\(error)" }
            }
            await world.run(.seconds(1))
            (setter == "phone" ? clocks.phone : clocks.watch).set(by: jump)
            await world.run(.seconds(2))
            world.network.heal()
            let answer = try await world.waiting { await asking.value }
            #expect(answer == outcome || outcome == "lapsed" && answer.hasPrefix("the device"))
        }
        #expect(world.beginnings.count == 1)
    }

    @Test func `A cancelled caller withdraws its intent`() async throws {
        let world = TrainingWorld(seed: 5)
        let (here, there) = try await world.pair()
        let service = world.serve(there)
        await world.settle(until: { here.state.intents.owner == service.session.source })
        world.network.partition([phone], [watch])
        let asking = Task { try await here.ask(Ask()) }
        await world.settle(until: { here.state.intents.entries.count == 1 })
        asking.cancel()
        await world.settle(until: { here.state.intents.entries.first?.isOpen == false })
        await #expect(throws: CancellationError.self) { try await asking.value }
        world.network.heal()
        await world.settle(until: { here.state == there.state })
        #expect(world.beginnings.isEmpty)
    }

    @Test func `Up to sixteen intents wait for their turn`() async throws {
        let world = TrainingWorld(seed: 6)
        let (here, there) = try await world.pair()
        let service = world.serve(there, takes: .seconds(1))
        await world.settle(until: { here.state.intents.owner == service.session.source })
        let asked = (0..<16).map { _ in Task { try await here.ask(Ask(), lapsesAfter: .seconds(60)) } }
        await world.settle(until: { here.state.intents.openCount(of: "phone") == 16 })
        await #expect(throws: SessionIntentError.refused) { try await here.ask(Ask()) }
        await world.settle(until: { here.state.step == 16 })
        var answers: [Int] = []
        for task in asked { answers.append(try await task.value) }
        #expect(answers == Array(1...16), "in the order of asking")
    }

    // MARK: - Several services

    @Test func `Of two services of one session, exactly one carries out an intent`() async throws {
        let world = TrainingWorld(seed: 9)
        let (here, there) = try await world.pair()
        let services = [world.serve(there, takes: .seconds(1)), world.serve(there, takes: .seconds(1))]
        await world.settle(until: { here.state.intents.owner == there.source })
        for _ in 1...2 { _ = try await world.waiting { try await here.ask(Ask()) } }
        #expect(world.beginnings.count == 2 && world.beginnings.values.allSatisfy { $0 == 1 })
        withExtendedLifetime(services) {}
    }

    @Test func `A service that replaces another doesn't settle an intent that is still running`() async throws {
        let world = TrainingWorld(seed: 10)
        let (here, there) = try await world.pair()
        var service = world.serve(there, takes: .seconds(2))
        await world.settle(until: { here.state.intents.owner == service.session.source })
        let asked = Task { try await here.ask(Ask()) }
        await world.settle(until: { here.state.intents.entries.first?.progress == .begun })
        service = world.serve(there)
        let answer = try await world.waiting { try await asked.value }
        #expect(answer == 1 && world.beginnings.values.allSatisfy { $0 == 1 })
        withExtendedLifetime(service) {}
    }

    // MARK: - Owners

    @Test(arguments: 0..<20 as Range<UInt64>)
    func `One of several devices that take over at once becomes the owner`(seed: UInt64) async throws {
        let world = TrainingWorld(seed: seed, conditions: .rough)
        let (here, there) = try await world.pair()
        let services = [world.serve(here), world.serve(there)]
        await world.settle(until: { services.count(where: \.isOwner) == 1 && here.state == there.state })
        for service in services { try service.takeOver() }
        await world.run(.seconds(3))
        await world.settle(until: { here.state == there.state && services.count(where: \.isOwner) == 1 })
        let owner = try #require(here.state.intents.owner)
        for session in [here, there] { _ = try await world.waiting { try await session.ask(Ask()) } }
        #expect(world.doers == [owner, owner], "seed \(seed)")
        let other = try #require(services.first { !$0.isOwner })
        try other.takeOver()
        await world.settle(until: { here.state == there.state && other.isOwner })
        _ = try await world.waiting { try await here.ask(Ask()) }
        #expect(world.doers.last == other.session.source, "seed \(seed)")
    }

    @Test func `when the owner is removed another device serves, and its open intents end as interrupted`() async throws
    {
        let world = TrainingWorld(seed: 7)
        let names = [phone, tablet, watch]
        let sources = names.enumerated().map { SessionSource(peerID: $1.id, incarnation: UInt32($0 + 1)) }
        var sessions: [TrainingSession] = []
        for (index, peer) in names.enumerated() {
            sessions.append(
                try await world.open(peer, incarnation: UInt32(index + 1)) {
                    $0.members = sources
                    $0.memberTimeout = .seconds(30)
                })
        }
        await world.settle(until: { sessions.allSatisfy { $0.isMember && $0.memberIDs.count == 3 } })
        let owning = world.serve(sessions[2], takes: .seconds(600))
        await world.settle(until: { sessions.allSatisfy { $0.state.intents.owner == sources[2] } })
        let standby = world.serve(sessions[1])
        #expect(owning.isOwner && !standby.isOwner)
        let asked = Task { try await sessions[0].ask(Ask()) }
        await world.settle(until: { sessions[0].state.intents.entries.first?.progress == .begun })
        world.network.partition([phone, tablet], [watch])
        await world.settle(until: { sessions[0].state.intents.owner == sources[1] })
        await #expect(throws: SessionIntentError.interrupted) { try await world.waiting { try await asked.value } }
        let answer = try await world.waiting { try await sessions[0].ask(Ask()) }
        #expect(world.doers == [sources[2], sources[1]] && answer == 2)
        world.network.heal()
        await world.settle(until: { sessions[2].state.intents.owner == sources[1] && !owning.isOwner })
    }

    // MARK: - Crashes

    @Test(arguments: 0..<100 as Range<UInt64>)
    func `an intent is started at most once, however often the serving device is killed`(seed: UInt64) async throws {
        let run = try await deaths(seed: seed) { $0.serve($1, takes: .milliseconds(200)) }
        #expect(run.world.beginnings.values.allSatisfy { $0 == 1 }, "seed \(seed)")
        let answered = run.outcomes.count { (try? $0.get()) != nil }
        #expect(run.state.step == answered && answered <= run.world.beginnings.count, "seed \(seed)")
        for case .failure(let error) in run.outcomes {
            #expect(error as? SessionIntentError == .interrupted, "seed \(seed): nothing was out of reach for so long")
        }
    }

    @Test func `without a write before the start, an intent would run twice`() async throws {
        var most = 0
        for seed in 0..<10 as Range<UInt64> {
            let run = try await deaths(seed: seed) { world, session in
                HastyService(session, world.handler(session, takes: .milliseconds(200)))
            }
            most = max(most, run.world.beginnings.values.max() ?? 0)
        }
        #expect(most > 1)
    }

    /// A phone asks four times. Each time the watch dies soon after, and relaunches with its store.
    private func deaths(
        seed: UInt64, serve: (TrainingWorld, TrainingSession) -> AnyObject
    ) async throws -> (world: TrainingWorld, outcomes: [Result<Int, any Error>], state: Training) {
        let world = TrainingWorld(seed: seed, conditions: .rough)
        var random = SplitMix64(seed: seed)
        let store = MemoryStore()
        let here = try await world.open(phone, incarnation: 1)
        var there = try await world.open(watch, incarnation: 2, store: store)
        var service: AnyObject? = serve(world, there)
        await world.settle(until: { here.isMember && there.isMember && here.state.intents.owner == there.source })
        var outcomes: [Result<Int, any Error>] = []
        for _ in 0..<4 {
            let asking = Task { try await here.ask(Ask(), lapsesAfter: .seconds(20)) }
            await world.run(.milliseconds(10 * Int64(random.next() % 60)))
            there.stop()
            service = nil
            there = try await world.open(watch, incarnation: UInt32(outcomes.count + 3), store: store)
            service = serve(world, there)
            outcomes.append(try await world.waiting { await asking.result })
        }
        await world.settle(until: { here.state == there.state && here.state.intents.owner == there.source })
        withExtendedLifetime(service) {}
        return (world, outcomes, here.state)
    }

    // MARK: - The reducer's part

    @Test func `Only the devices concerned change an intent, and terms are consecutive`() {
        var intents = SessionIntents<Ask, Int>()
        let (watch, phone) = (SessionSource(peerID: "watch", incarnation: 2), SessionSource(peerID: "phone"))
        for term in [0, 2, .max] as [UInt64] { intents.apply(.takeOver(term: term), context: context("phone", 1)) }
        #expect(intents.owner == nil && intents.term == 0)
        intents.apply(.takeOver(term: 1), context: context("watch", 1, incarnation: 2))
        intents.apply(.takeOver(term: 1), context: context("phone", 2))
        #expect(intents.owner == watch && intents.term == 1)

        let never = Date(timeIntervalSince1970: .nan)
        intents.apply(.ask(Ask(), of: watch, lapsesAt: never), context: context("phone", 3))
        #expect(intents.entries.isEmpty)
        let asked = context("phone", 4)
        intents.apply(.ask(Ask(), of: watch, lapsesAt: .distantFuture), context: asked)
        let id = asked.metadata.eventID
        intents.apply(.begin(id: id), context: context("phone", 5))
        intents.apply(.settle(id: id, .answered(9)), context: context("phone", 6))
        intents.apply(.settle(id: id, .lapsed), context: context("tablet", 1))
        #expect(intents[id]?.progress == .asked)
        intents.apply(.begin(id: id), context: context("watch", 2))
        intents.apply(.settle(id: id, .lapsed), context: context("phone", 7))
        #expect(intents[id]?.progress == .begun, "a started intent doesn't expire")
        intents.apply(.settle(id: id, .interrupted), context: context("phone", 8))
        #expect(intents[id]?.progress == .settled(.interrupted))
        #expect(intents.apply(.settle(id: id, .answered(7)), context: context("watch", 3))?.id == id)
        #expect(intents.apply(.settle(id: id, .answered(8)), context: context("watch", 4)) == nil)
        #expect(intents[id]?.progress == .settled(.answered(7)), "the serving device's first report decides")
        intents.apply(.settle(id: UUID(), .answered(8)), context: context("watch", 5))
        #expect(intents.openCount(of: phone.peerID) == 0)
    }

    @Test func `An ID names one intent, so its beginning and its answer belong to the same`() {
        var intents = SessionIntents<Ask, Int>()
        let (watch, liar) = (SessionSource(peerID: "watch"), SessionSource(peerID: "tablet"))
        let asked = context("phone", 4)
        let id = asked.metadata.eventID
        intents.apply(.ask(Ask(), of: liar, lapsesAt: .distantFuture), context: context("tablet", 1, id: id))
        intents.apply(.ask(Ask(), of: watch, lapsesAt: .distantFuture), context: asked)
        #expect(intents.entries.map(\.designated) == [liar])
        intents.apply(.begin(id: id), context: context("watch", 1))
        #expect(intents[id]?.progress == .asked, "the watch runs no handler for it")
    }

    @Test func `A peer has sixteen open intents, and a new one replaces the oldest settled one`() {
        var intents = SessionIntents<Ask, Int>()
        let watch = SessionSource(peerID: "watch")
        for asker in 0..<17 {
            for number in 1...17 {
                intents.apply(
                    .ask(Ask(), of: watch, lapsesAt: .distantFuture), context: context("\(asker)", UInt64(number)))
            }
        }
        #expect(intents.entries.count == 256 && intents.openCount(of: "15") == 16 && intents.openCount(of: "16") == 0)
        let (first, second) = (intents.entries[0].id, intents.entries[1].id)
        intents.apply(.settle(id: second, .lapsed), context: context("0", 20))
        intents.apply(.ask(Ask(), of: watch, lapsesAt: .distantFuture), context: context("16", 21))
        #expect(intents[second] == nil && intents[first] != nil && intents.openCount(of: "16") == 1)
    }

    private func context(
        _ peerID: String, _ sequence: UInt64, incarnation: UInt32 = 0, id: UUID? = nil
    ) -> SessionEventContext {
        SessionEventContext(
            metadata: SessionSyncMetadata(
                sessionID: sessionID, featureID: "training", sourcePeerID: peerID, eventID: id, sequence: sequence,
                causalTimestamp: Date(timeIntervalSince1970: 0), payloadType: "training.event",
                incarnation: incarnation))
    }
}

private struct NoStepLeft: LocalizedError {
    var errorDescription: String? { "Keine Übung übrig" }
}

/// Devices of a training, and the actions that they have done.
@MainActor private final class TrainingWorld {
    private let world: VirtualWorld
    /// The number of times that each intent was begun.
    private(set) var beginnings: [UUID: Int] = [:]
    private(set) var doers: [SessionSource] = []

    init(seed: UInt64, conditions: ScenarioConditions = .calm) {
        world = VirtualWorld(seed: seed, conditions: conditions)
    }

    var network: ScenarioNetwork { world.network }

    func open(
        _ peer: SessionPeer, incarnation: UInt32, store: (any SessionStore)? = nil,
        configure: (inout SyncedSessionConfiguration<Training, TrainingEvent>) -> Void = { _ in }
    ) async throws -> TrainingSession {
        var configuration = SyncedSessionConfiguration<Training, TrainingEvent>()
        world.adapt(&configuration, incarnation: incarnation)
        configure(&configuration)
        let session = try await TrainingSession.open(
            sessionID: sessionID, featureID: "training", transport: world.transport(peer), store: store,
            initialState: Training(), reducer: TrainingReducer(), conflictPolicy: AcceptingConflictPolicy(),
            configuration: configuration)
        session.start()
        return session
    }

    func pair() async throws -> (TrainingSession, TrainingSession) {
        let sessions = (try await open(phone, incarnation: 1), try await open(watch, incarnation: 2))
        await settle(until: { sessions.0.isMember && sessions.1.isMember })
        return sessions
    }

    /// Answers each intent with the number of actions so far.
    func serve(_ session: TrainingSession, takes duration: Duration = .zero) -> TrainingService {
        session.serve(handler(session, takes: duration))
    }

    func handler(
        _ session: TrainingSession, takes duration: Duration
    ) -> @MainActor (SessionIntent<Ask, Int>) async throws -> Int {
        { [self] intent in
            beginnings[intent.id, default: 0] += 1
            doers.append(session.source)
            let count = doers.count
            if duration > .zero { try await world.sleep(duration) }
            return count
        }
    }

    func run(_ duration: Duration) async { await world.run(duration) }

    func settle(until condition: () -> Bool, sourceLocation: SourceLocation = #_sourceLocation) async {
        await world.settle(until: condition, sourceLocation: sourceLocation)
    }

    /// Advances time until the body has ended.
    func waiting<Value: Sendable>(_ body: @escaping @MainActor () async throws -> Value) async throws -> Value {
        let hasEnded = Flag()
        let task = Task { @MainActor in
            defer { hasEnded.isSet = true }
            return try await body()
        }
        await settle(until: { hasEnded.isSet })
        return try await task.value
    }
}

/// Acts at once on each intent that it sees, and records only the answer.
@MainActor private final class HastyService {
    private var seen: Set<UUID> = []
    private let listener = OwnedTasks()

    init(_ session: TrainingSession, _ handler: @escaping @MainActor (SessionIntent<Ask, Int>) async throws -> Int) {
        if session.state.intents.owner == nil { _ = try? session.submit(.intents(.takeOver(term: 1))) }
        let states = session.states()
        listener.hold([
            Task { [weak self] in
                for await state in states {
                    for entry in state.intents.entries where entry.isOpen && entry.designated == session.source {
                        guard self?.seen.insert(entry.id).inserted == true else { continue }
                        guard let answer = try? await handler(entry) else { return }
                        _ = try? session.submit(.intents(.settle(id: entry.id, .answered(answer))))
                    }
                }
            }
        ])
    }
}

@MainActor private final class Flag {
    var isSet = false
}
