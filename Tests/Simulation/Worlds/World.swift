import MeshBase
import MeshDiagnostics
import MeshEngine
import MeshIdentity
import MeshScenarioTransport
import MeshVirtualTime

/// What surrounds a peer's engine.
struct Situation {
    var isRunning = true
    /// Virtual microseconds before which nothing is handled.
    var pausedUntil: UInt64 = 0
    /// Microseconds that each frame takes.
    var frameCost: UInt64 = 0
    /// Milliseconds by which the wall clock is off.
    var clockOffset = 0
    /// What the peer is told of the others' reachability; nil is the truth.
    var claim: Bool?
    /// Virtual microseconds before which its engine is not ticked.
    var silentUntil: UInt64 = 0
    /// For frames that wait behind others of a slow consumer.
    var busyUntil: UInt64 = 0
}

/// One seed's run: peers, the network between them and what goes wrong, in virtual time on one thread.
///
/// Until the schedule's `healing` only safety is demanded: nothing that must never happen happens. Then everything is mended
/// but the peers that the seed abandons, and by its `end` the others must agree.
final class World<Feature: SimulatedFeature> {
    let schedule: Schedule
    let options: SimulationOptions
    var outcome: WorldOutcome
    var network: FrameNetwork
    /// For crashes in the middle of a step and the like; the network has its own.
    var random: SplitMix64
    var agenda = EventQueue<Step>()
    /// Virtual microseconds.
    var now: UInt64 = 0
    var conditions: Conditions
    var replicas: [Replica<Feature>] = []
    var situations: [Situation]
    var ghost = Ghost<Feature>()
    /// Sources that honest peers have been.
    var sourceCount = 0
    /// What peers want the liar to return.
    var tokensForLiar: [LivenessToken] = []
    var stepCount = 0
    /// By peer: its store at each exchange, in seeds that restore one.
    var backups: [[(time: UInt64, store: StoredMoment<Feature>)]]
    let keepsBackups: Bool
    /// Frames under way, and by the same place in the list between whom.
    private var passages: [Frame<Feature>?] = []
    private var routes: [Route] = []
    private var freeSlots: [Int] = []
    /// By peer: events that its transport hands over together with what comes next.
    var together: [[Frame<Feature>]]
    /// Draws how many that are, so that it changes nothing else of a seed.
    var gathering: SplitMix64
    /// Whether there is a transport that hands events over together, in half of the seeds.
    let handsTogether: Bool
    /// Where members join and are let go.
    var company: WorldCompany?

    /// What was recorded of each peer's state last.
    var recordedStates: [DiagnosticsEntry?]
    private var recordedFrames: UInt64 = 0

    private struct Route {
        let sender: Int
        let receiver: Int
        /// What a recording calls the frame.
        var message: UInt64 = 0
    }

    init(_ schedule: Schedule, _ options: SimulationOptions) {
        self.schedule = schedule
        self.options = options
        outcome = WorldOutcome(seed: schedule.seed)
        network = FrameNetwork(schedule)
        random = SplitMix64(seed: schedule.seed ^ 0x5EED)
        together = Array(repeating: [], count: schedule.peerCount)
        recordedStates = Array(repeating: nil, count: schedule.peerCount)
        gathering = SplitMix64(seed: schedule.seed ^ 0x6A74)
        handsTogether = gathering.happens(rate: 0.5)
        conditions = schedule.conditions
        let silentUntil = UInt64(schedule.conditions.silentStart) * 1_000
        situations = schedule.conditions.skew.map { Situation(clockOffset: $0, silentUntil: silentUntil) }
        backups = Array(repeating: [], count: schedule.peerCount)
        keepsBackups = schedule.faults.contains { if case .restoreStore = $0.fault { true } else { false } }
        if schedule.conditions.skew.contains(where: { $0 != 0 }) { outcome.faults[.clockSkew] += 1 }
        if !schedule.conditions.newer.isEmpty { outcome.faults[.mixedVersions] += 1 }
        if !schedule.conditions.abandoned.isEmpty { outcome.faults[.abandonedPeer] += 1 }
        do {
            try createReplicas()
        } catch {
            outcome.failure = "no store can be created: \(error)"
        }
        company = schedule.company.map { WorldCompany($0, peerCount: schedule.peerCount) }
        if company != nil { beginCompany() }
    }

    /// Whether a store may be put back to an earlier moment.
    var mayFork: Bool { keepsBackups || schedule.conditions.lostSync > 0 }

    func run() {
        guard outcome.failure == nil else { return }
        for index in schedule.taps.indices { enter(.tap(Int32(index)), atMilliseconds: schedule.taps[index].at) }
        for index in schedule.faults.indices { enter(.fault(Int32(index)), atMilliseconds: schedule.faults[index].at) }
        for index in schedule.lies.indices { enter(.lie(Int32(index)), atMilliseconds: schedule.lies[index].at) }
        for peer in replicas.indices { agenda.enter(.exchange(peer: Int32(peer)), at: random.upTo(50_000)) }
        enter(.mend, atMilliseconds: schedule.healing)
        do throws(Violation) {
            while let time = agenda.nextTime, time <= UInt64(schedule.end) * 1_000, let (_, step) = agenda.take() {
                now = time
                try perform(step)
                stepCount += 1
                if stepCount % 64 == 0 { try checkEverything() }
            }
            try checkEnd()
        } catch {
            outcome.failure = "at \(now / 1_000) ms: \(error.reason)"
        }
        recordEnd()
        outcome.simulatedMilliseconds = Int(now / 1_000)
        outcome.faults += network.counts
    }

    private func perform(_ step: Step) throws(Violation) {
        switch step {
        case .frame(let slot): try arrive(Int(slot))
        case .exchange(let peer): try exchange(Int(peer))
        case .tap(let index): try tap(schedule.taps[Int(index)])
        case .fault(let index): try begin(schedule.faults[Int(index)], index)
        case .faultEnd(let index): end(schedule.faults[Int(index)])
        case .lie(let index): try tell(schedule.lies[Int(index)])
        case .mend: mend()
        case .start(let peer): if now < UInt64(schedule.healing) * 1_000 { start(Int(peer)) }
        case .decide: try decide()
        }
    }
}

// MARK: - Time

extension World {
    /// Tells what a peer does to whoever looks at one seed.
    /// - Parameter isRecorded: false for what a recording tells otherwise.
    func trace(_ peer: Int, isRecorded: Bool = true, _ text: () -> String) {
        if isRecorded { record(note: text, of: peer) }
        guard let trace = options.trace else { return }
        trace("\(now / 1_000) ms  \(Schedule.name(of: peer)) \(text())")
    }
}

extension World {
    /// The peer's wall clock.
    func wallMilliseconds(_ peer: Int) -> UInt64 {
        UInt64(1_767_225_600_000 + Int(now / 1_000) + situations[peer].clockOffset)
    }

    func enter(_ step: Step, atMilliseconds time: Int) { agenda.enter(step, at: UInt64(time) * 1_000) }

    func isAwake(_ peer: Int) -> Bool { situations[peer].isRunning && now >= situations[peer].pausedUntil }
}

// MARK: - Frames

extension World {
    func transmit(_ frame: Frame<Feature>, from sender: Int, to receiver: Int) {
        guard isConnected(sender, receiver), canPass(frame, from: sender, to: receiver) else { return }
        let fate = network.fate(from: sender, to: receiver, at: now)
        recordedFrames += 1
        let route = Route(sender: sender, receiver: receiver, message: recordedFrames)
        record(frame, .sent, route.message, from: sender, to: receiver)
        if fate.first == nil, fate.copy == nil { record(frame, .lost, route.message, from: sender, to: receiver) }
        if let delay = fate.first { dispatch(frame, route, at: now + delay) }
        if let delay = fate.copy { dispatch(frame, route, at: now + delay) }
    }

    private func dispatch(_ frame: Frame<Feature>, _ route: Route, at time: UInt64) {
        let slot: Int
        if let free = freeSlots.popLast() {
            passages[free] = frame
            routes[free] = route
            slot = free
        } else {
            slot = passages.count
            passages.append(frame)
            routes.append(route)
        }
        agenda.enter(.frame(slot: Int32(slot)), at: time)
    }

    private func arrive(_ slot: Int) throws(Violation) {
        let peer = routes[slot].receiver
        let situation = situations[peer]
        let readyAt = max(situation.pausedUntil, situation.busyUntil)
        if situation.isRunning, now < readyAt { return agenda.enter(.frame(slot: Int32(slot)), at: readyAt) }
        let frame = passages[slot].take()
        freeSlots.append(slot)
        guard situation.isRunning, let frame else { return }
        let route = routes[slot]
        record(frame, .received, route.message, from: route.sender, to: peer)
        situations[peer].busyUntil = now + situation.frameCost
        outcome.frames += 1
        company?.heard[peer][route.sender] = now
        if case .control(let envelope) = frame, envelope.payload.group != nil {
            company?.reported[peer][route.sender] = now
        }
        try handle(frame, at: peer)
        recordState(of: peer)
    }
}
