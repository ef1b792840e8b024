import MeshBase
import MeshEngine
import MeshFoundation
import MeshIdentity
import MeshVirtualTime

/// A run of two apps written for the reference API (`submitLocal`, `receive`, `applySnapshot`). Each has one engine,
/// and an adapter that shows the results of the engine's calls.
///
/// Messages travel as over WatchConnectivity. An event is sent as a message, or as a user info if the session reports
/// the other app as unreachable. States travel in the application context, which keeps only the newest, or in order
/// with the events. An app publishes its state after each event, its own or the other app's, and on request. A
/// relaunched app starts empty, receives the last context and the waiting messages, and requests a snapshot.
///
/// An app always shows its engine's state. Once everything has arrived, both apps must show the same state and each tap
/// once.
///
/// Some seeds may end with a difference, which the outcome counts by its cause:
///
/// - An event was lost, with a message or with the processes that held it.
/// - A message was in flight during two launches. The receiver can't tell which launch's events it counts.
/// - A message of an ended launch arrived after the next launch's request was answered. The apps may then differ until
///   one publishes again.
final class OriginalApps<Feature: SimulatedFeature> {
    private typealias Engine = SessionSyncEngine<Feature.State, Feature.Event, Feature.Reducer, Feature.Policy>

    private struct App {
        var engine: Engine
        /// The state on the screen.
        var shown: Feature.State
        var isRunning = true
        /// The number of relaunches so far.
        var launch = 0
        /// Numbers of the events that its engine has received, as events or within a state.
        var known: Set<UInt32> = []
        /// The other app's launch that last received an answer from this app.
        var answered: Int?
        /// Indexes of the messages that the system stores until the app runs.
        var waiting: [Int] = []
        /// The index of the last application context that arrived.
        var context: Int?
    }

    private struct Passage {
        let message: Message
        let sender: Int
        /// The launch number of each app when the message was sent.
        let launches: [Int]
        var lane: Lane
    }

    private enum Lane: Int {
        case message, userInfo, context
    }

    private enum Message {
        case event(SessionSyncEnvelope<Feature.Event>, number: UInt32)
        case snapshot(SessionSyncSnapshot<Feature.State>, of: Set<UInt32>)
        case request
    }

    private let schedule: Schedule
    private let options: SimulationOptions
    private(set) var outcome: WorldOutcome
    private var random: SplitMix64
    private var agenda = EventQueue<Step>()
    private var apps: [App] = []
    private var now: UInt64 = 0
    private var passages: [Passage] = []
    /// Arrival time of the last message, by sender and lane.
    private var latest = [UInt64](repeating: 0, count: 6)
    /// The newest application context, by sender.
    private var newest: [Int?] = [nil, nil]
    private var tapped: [UInt32] = []
    /// The reason that not every event has arrived.
    private var loss: String?
    /// The reason that the apps may differ until one publishes again.
    private var delay: String?

    /// True if states travel in the application context. Otherwise they are sent in order with the events.
    private let hasTwoLanes: Bool
    /// True if an app's snapshots list its own events in the vector.
    private let listsItself: Bool

    init(_ schedule: Schedule, _ options: SimulationOptions) {
        self.schedule = schedule
        self.options = options
        outcome = WorldOutcome(seed: schedule.seed)
        random = SplitMix64(seed: schedule.seed ^ 0xCA11)
        hasTwoLanes = random.happens(rate: 0.5)
        listsItself = random.happens(rate: 0.5)
        apps = (0..<2).map { App(engine: newEngine($0), shown: Feature.initialState) }
    }

    private func newEngine(_ peer: Int) -> Engine {
        var options = SessionEngineOptions<Feature.State, Feature.Event>()
        options.samplesReducer = false
        return Engine(
            sessionID: Replica<Feature>.sessionID, featureID: Feature.id, localPeerID: Schedule.name(of: peer),
            payloadType: "event", snapshotPayloadType: "state", initialState: Feature.initialState,
            reducer: Feature.reducer, conflictPolicy: Feature.policy,
            // Like the initializer's incarnation, but derived from the seed.
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
            if delay == nil { try check() } else if difference != nil { outcome.unequal = delay }
            // Apps that return to the foreground publish their state.
            for peer in [0, 1, 0] {
                sendSnapshot(from: peer)
                try runDry()
            }
            try check()
            if loss != nil, difference != nil { outcome.unequal = loss }
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
            case .fault(let index): kill(schedule.faults[Int(index)].peer, index)
            case .faultEnd(let index): try launch(schedule.faults[Int(index)].peer)
            case .frame(let slot): try arrive(Int(slot))
            case .exchange, .lie, .mend, .start, .decide: break
            }
        }
    }

    private func moment(_ peer: Int) -> Date {
        let skew = Double(schedule.conditions.skew[peer]) / 1_000
        return Date(timeIntervalSince1970: 1_767_225_600 + Double(now) / 1_000_000 + skew)
    }

    // MARK: - The adapter

    private func tap(_ tap: Tap) throws(Violation) {
        guard apps[tap.peer].isRunning else { return }
        let moment = moment(tap.peer)
        let number = UInt32(tapped.count + 1)
        let event = Feature.event(number: number, choice: tap.choice, moment: moment)
        // If the reducer rejects the event, there is nothing to send.
        guard let envelope = try? apps[tap.peer].engine.submitLocal(event, at: moment) else { return }
        tapped.append(number)
        outcome.operations += 1
        trace(tap.peer) { "taps \(envelope.metadata.place.text), number \(number)" }
        apps[tap.peer].shown = apps[tap.peer].engine.store.state
        apps[tap.peer].known.insert(number)
        send(.event(envelope, number: number), from: tap.peer)
        sendSnapshot(from: tap.peer)
        try checkShown(tap.peer)
    }

    private func receive(_ slot: Int, at peer: Int) throws(Violation) {
        outcome.frames += 1
        let passage = passages[slot]
        let launches = apps.indices.reduce(0) { $0 + apps[$1].launch - passage.launches[$1] }
        if launches > 1 { loss = "a message was under way while apps were launched twice" }
        if let answered = apps[peer].answered, answered > passage.launches[passage.sender] {
            delay = "equal after the next snapshot: a message came from a launch whose successor had been answered"
        }
        do {
            switch passage.message {
            case .request:
                apps[peer].answered = passage.launches[passage.sender]
                sendSnapshot(from: peer)
            case .event(let envelope, let number):
                apps[peer].known.insert(number)
                let result = try apps[peer].engine.receive(envelope)
                trace(peer) { "receives \(envelope.metadata.place.text): \(result)" }
                switch result {
                case .applied(let state):
                    apps[peer].shown = state
                    sendSnapshot(from: peer)
                // The state is unchanged, but it now includes the event.
                case .ignored: sendSnapshot(from: peer)
                case .duplicate: break
                case .snapshotRequired: send(.request, from: peer)
                }
            case .snapshot(let snapshot, let known):
                let result = try apps[peer].engine.applySnapshot(snapshot)
                trace(peer) {
                    "receives a snapshot with \(snapshot.peerSequenceVector.sorted { $0.key < $1.key }): \(result)"
                }
                if case .applied(let state) = result {
                    apps[peer].shown = state
                    apps[peer].known.formUnion(known)
                    outcome.snapshots += 1
                }
            }
        } catch {
            throw Violation("\(Schedule.name(of: peer)) refuses a message: \(error)")
        }
        try checkShown(peer)
    }

    private func kill(_ peer: Int, _ fault: Int32) {
        guard apps[peer].isRunning else { return }
        outcome.faults[.relaunch] += 1
        trace(peer) { "is killed" }
        let own = passages.compactMap { passage in
            if case .event(_, let number) = passage.message, passage.sender == peer { number } else { nil }
        }
        let other = apps[1 - peer].isRunning ? apps[1 - peer].known : []
        if !apps[peer].known.isSubset(of: other.union(own)) { loss = "an app was killed that alone had an event" }
        apps[peer].isRunning = false
        agenda.enter(.faultEnd(fault), at: now + UInt64(schedule.faults[Int(fault)].duration) * 1_000)
    }

    private func launch(_ peer: Int) throws(Violation) {
        trace(peer) { "is launched again" }
        let (waiting, context) = (apps[peer].waiting, apps[peer].context)
        apps[peer] = App(
            engine: newEngine(peer), shown: Feature.initialState, launch: apps[peer].launch + 1,
            context: context)
        if let context { try receive(context, at: peer) }
        for slot in waiting { try receive(slot, at: peer) }
        send(.request, from: peer)
    }

    /// Sends a snapshot as adapters do: with manually built metadata that has no stamp.
    private func sendSnapshot(from peer: Int) {
        let store = apps[peer].engine.store
        // An empty app sends nothing.
        guard !store.lastSequenceByPeerID.isEmpty else { return }
        var vector = store.lastSequenceByPeerID
        let name = Schedule.name(of: peer)
        if !listsItself { vector[name] = nil }
        let metadata = SessionSyncMetadata(
            sessionID: Replica<Feature>.sessionID, featureID: Feature.id, sourcePeerID: name,
            sequence: store.nextLocalSequence, causalTimestamp: moment(peer), payloadType: "state")
        let revision = apps[peer].engine.allocateOutgoingSnapshotRevision()
        send(
            .snapshot(
                SessionSyncSnapshot(
                    metadata: metadata, revision: revision, state: store.state, peerSequenceVector: vector),
                of: apps[peer].known),
            from: peer)
    }

    // MARK: - The network

    private func send(_ message: Message, from peer: Int) {
        var lane = Lane.message
        if hasTwoLanes, case .snapshot = message { lane = .context }
        // At random, the session reports the other app as unreachable.
        if lane == .message, random.happens(ifAtAll: schedule.conditions.longTail) { lane = .userInfo }
        if lane == .message, random.happens(ifAtAll: schedule.conditions.loss) {
            outcome.faults[.loss] += 1
            trace(peer) { "loses a message" }
            if case .snapshot = message {} else { loss = "a message was lost" }
            return
        }
        if lane == .context { newest[peer] = passages.count }
        passages.append(Passage(message: message, sender: peer, launches: apps.map(\.launch), lane: lane))
        pass(passages.count - 1)
        // The message arrived, but its acknowledgement was lost.
        if lane == .message, random.happens(ifAtAll: schedule.conditions.duplication) {
            outcome.faults[.duplication] += 1
            passages.append(Passage(message: message, sender: peer, launches: apps.map(\.launch), lane: .userInfo))
            pass(passages.count - 1)
        }
    }

    private func pass(_ slot: Int) {
        let lane = passages[slot].lane
        var delay = UInt64(
            schedule.conditions.latency * 1_000 + random.exponential(mean: schedule.conditions.jitter * 1_000))
        if lane == .userInfo {
            outcome.faults[.longTail] += 1
            delay += random.upTo(1_000_000)
        }
        let queue = 3 * passages[slot].sender + lane.rawValue
        latest[queue] = max(latest[queue] + 1, now + delay)
        agenda.enter(.frame(slot: Int32(slot)), at: latest[queue])
    }

    private func arrive(_ slot: Int) throws(Violation) {
        let passage = passages[slot]
        let peer = 1 - passage.sender
        if passage.lane == .context {
            guard newest[passage.sender] == slot else { return }
            apps[peer].context = slot
        }
        if apps[peer].isRunning { return try receive(slot, at: peer) }
        switch passage.lane {
        case .context: break
        case .userInfo: apps[peer].waiting.append(slot)
        case .message:
            // The sender is notified and retries by user info.
            guard apps[passage.sender].isRunning, apps[passage.sender].launch == passage.launches[passage.sender] else {
                if case .event = passage.message { loss = "an app was killed before it could send an event again" }
                return
            }
            passages[slot].lane = .userInfo
            pass(slot)
        }
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

    /// Checks the end state, if every event has arrived.
    private func check() throws(Violation) {
        if loss == nil, let difference { throw Violation(difference) }
    }

    /// The first difference from the expected end state, or nil.
    private var difference: String? {
        outcome.confirmed = tapped.count
        for (peer, app) in apps.enumerated() {
            for number in tapped {
                guard let count = Feature.count(of: number, in: app.shown), count != 1 else { continue }
                return "\(Schedule.name(of: peer)) shows event \(number) \(count) times"
            }
        }
        return apps[0].shown == apps[1].shown ? nil : "the apps show different states"
    }
}
