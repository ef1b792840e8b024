import MeshBus
import MeshEngine
import MeshIdentity
import MeshVirtualTime

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Two apps as they were written for the reference: one engine each, made by the reference's initialiser, and an adapter
/// that shows what its calls return.
///
/// The network is calm: everything arrives, events in order and snapshots in order. An app that is launched again has
/// nothing and asks for a snapshot. At every moment an app shows what its engine has; once all has arrived, both show
/// the same, and each tap once.
final class OriginalApps<Feature: SimulatedFeature> {
    private typealias Engine = SessionSyncEngine<Feature.State, Feature.Event, Feature.Reducer, Feature.Policy>

    private struct App {
        var engine: Engine
        /// What is on the screen.
        var shown: Feature.State
        var asks = false
    }

    private enum Message {
        case event(SessionSyncEnvelope<Feature.Event>)
        case snapshot(SessionSyncSnapshot<Feature.State>)
        case request
    }

    private let schedule: Schedule
    private let options: SimulationOptions
    private(set) var outcome: SeedOutcome
    private var random: SplitMix64
    private var agenda = EventQueue<Step>()
    private var apps: [App] = []
    private var now: UInt64 = 0
    private var passages: [(message: Message, receiver: Int)] = []
    /// By sender and lane: when the last message arrives.
    private var latest: [UInt64] = [0, 0, 0, 0]
    private var tapped: [UInt32] = []

    /// Events and states go by lanes of their own, as by messages and by the application context.
    private let hasTwoLanes: Bool
    /// One snapshot in so many taps; 0 for none.
    private let snapshotInterval: Int
    private let listsItself: Bool

    init(_ schedule: Schedule, _ options: SimulationOptions) {
        self.schedule = schedule
        self.options = options
        outcome = SeedOutcome(seed: schedule.seed)
        random = SplitMix64(seed: schedule.seed ^ 0xCA11)
        hasTwoLanes = random.happens(rate: 0.5)
        snapshotInterval = random.element([0, 1, 1, 4])
        listsItself = random.happens(rate: 0.5)
        apps = (0..<2).map { App(engine: newEngine($0), shown: Feature.initialState) }
    }

    private func newEngine(_ peer: Int) -> Engine {
        var options = SessionEngineOptions<Feature.State, Feature.Event>()
        options.mutations = self.options.mutations
        options.samplesReducer = false
        return Engine(
            sessionID: Replica<Feature>.sessionID, featureID: Feature.id, localPeerID: Schedule.name(of: peer),
            payloadType: "event", snapshotPayloadType: "state", initialState: Feature.initialState,
            reducer: Feature.reducer, conflictPolicy: Feature.policy,
            // As the initialiser draws it, only that the seed decides.
            incarnation: UInt32(truncatingIfNeeded: random.next()) | 1, options: options)
    }

    func run() {
        for index in schedule.taps.indices {
            agenda.enter(.tap(Int32(index)), at: UInt64(schedule.taps[index].at) * 1_000)
        }
        for index in schedule.faults.indices {
            agenda.enter(.fault(Int32(index)), at: UInt64(schedule.faults[index].at) * 1_000)
        }
        do throws(Violation) {
            try runDry()
            // Apps that come to the front say what they have; of two states that include the same one wins.
            for peer in [0, 1, 0] {
                sendSnapshot(from: peer)
                try runDry()
            }
            try checkEnd()
        } catch {
            outcome.failure = "at \(now / 1_000) ms: \(error.reason)"
        }
        outcome.simulatedMilliseconds = Int(now / 1_000)
    }

    private func runDry() throws(Violation) {
        while let time = agenda.nextTime, let (_, step) = agenda.take() {
            now = time
            switch step {
            case .tap(let index): try tap(schedule.taps[Int(index)])
            case .fault(let index): try relaunch(schedule.faults[Int(index)].peer)
            case .frame(let slot): try receive(passages[Int(slot)].message, at: passages[Int(slot)].receiver)
            case .exchange, .faultEnd, .lie, .mend, .start, .decide: break
            }
        }
    }

    private var moment: Date { Date(timeIntervalSince1970: 1_767_225_600 + Double(now) / 1_000_000) }

    // MARK: - The adapter

    private func tap(_ tap: Tap) throws(Violation) {
        let number = UInt32(tapped.count + 1)
        let event = Feature.event(number: number, choice: tap.choice, moment: moment)
        // A reducer that refuses throws; there is nothing to send then.
        guard let envelope = try? apps[tap.peer].engine.submitLocal(event, at: moment) else { return }
        tapped.append(number)
        outcome.operations += 1
        trace(tap.peer) { "taps \(envelope.metadata.place.text), number \(number)" }
        apps[tap.peer].shown = apps[tap.peer].engine.store.state
        send(.event(envelope), from: tap.peer)
        if snapshotInterval > 0, tapped.count % snapshotInterval == 0 { sendSnapshot(from: tap.peer) }
        try checkShown(tap.peer)
    }

    private func receive(_ message: Message, at peer: Int) throws(Violation) {
        outcome.frames += 1
        do {
            switch message {
            case .request: sendSnapshot(from: peer)
            case .event(let envelope):
                let result = try apps[peer].engine.receive(envelope)
                trace(peer) { "receives \(envelope.metadata.place.text): \(result)" }
                switch result {
                case .applied(let state): apps[peer].shown = state
                case .duplicate, .ignored: break
                case .snapshotRequired: send(.request, from: peer)
                }
            case .snapshot(let snapshot):
                let result = try apps[peer].engine.applySnapshot(snapshot)
                trace(peer) {
                    "receives a snapshot with \(snapshot.peerSequenceVector.sorted { $0.key < $1.key }): \(result)"
                }
                if case .applied(let state) = result {
                    apps[peer].shown = state
                    outcome.snapshots += 1
                }
            }
        } catch {
            throw Violation("\(Schedule.name(of: peer)) refuses a message: \(error)")
        }
        try checkShown(peer)
    }

    private func relaunch(_ peer: Int) throws(Violation) {
        outcome.faults[.relaunch] += 1
        trace(peer) { "is launched again" }
        apps[peer] = App(engine: newEngine(peer), shown: Feature.initialState)
        send(.request, from: peer)
    }

    /// As adapters make it: metadata by hand, which have no stamp.
    private func sendSnapshot(from peer: Int) {
        let store = apps[peer].engine.store
        // Whoever has nothing says nothing.
        guard !store.lastSequenceByPeerID.isEmpty else { return }
        var vector = store.lastSequenceByPeerID
        let name = Schedule.name(of: peer)
        if !listsItself { vector[name] = nil }
        let metadata = SessionSyncMetadata(
            sessionID: Replica<Feature>.sessionID, featureID: Feature.id, sourcePeerID: name,
            sequence: store.nextLocalSequence, causalTimestamp: moment, payloadType: "state")
        let revision = apps[peer].engine.allocateOutgoingSnapshotRevision()
        send(
            .snapshot(
                SessionSyncSnapshot(
                    metadata: metadata, revision: revision, state: store.state, peerSequenceVector: vector)),
            from: peer)
    }

    // MARK: - The network

    private func send(_ message: Message, from peer: Int) {
        var lane = 2 * peer
        if hasTwoLanes, case .snapshot = message { lane += 1 }
        let delay = UInt64(
            schedule.conditions.latency * 1_000 + random.exponential(mean: schedule.conditions.jitter * 1_000))
        latest[lane] = max(latest[lane] + 1, now + delay)
        agenda.enter(.frame(slot: Int32(passages.count)), at: latest[lane])
        passages.append((message, 1 - peer))
    }

    // MARK: - Checks

    private func trace(_ peer: Int, _ text: () -> String) {
        guard let trace = options.trace else { return }
        trace("\(now / 1_000) ms  \(Schedule.name(of: peer)) \(text())")
    }

    private func checkShown(_ peer: Int) throws(Violation) {
        guard apps[peer].shown == apps[peer].engine.state else {
            throw Violation("\(Schedule.name(of: peer)) shows another state than its engine has")
        }
    }

    private func checkEnd() throws(Violation) {
        outcome.confirmed = tapped.count
        for (peer, app) in apps.enumerated() {
            for number in tapped {
                guard let count = Feature.count(of: number, in: app.shown), count != 1 else { continue }
                throw Violation("\(Schedule.name(of: peer)) shows event \(number) \(count) times")
            }
        }
        guard apps[0].shown == apps[1].shown else { throw Violation("the apps show different states") }
    }
}
