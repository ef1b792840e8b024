import MeshBase
import MeshDiagnostics
import MeshEngine
import MeshIdentity
import MeshScenarioTransport
import MeshVirtualTime

// A deterministic discrete-event simulation. A seed decides everything, so a failing run can be repeated and shrunk.
// - World: the peers of one seed, with their network, stores, clocks and users. An agenda has the steps and the virtual
//   time of each.
// - Schedule: everything that the seed decides before the first step. Its conditions hold until `healing`. Each of its
//   faults has a time.
// - Fault: an injected failure, such as a lost frame, a partition, a crash, a lost or restored store, or a wrong clock.
// - Invariant: a condition that must always hold. A broken one is a `Violation` and fails the seed.
// - Safety: members confirm the same events at the same positions, and no event is inserted at or below a cut.
// - Liveness: all peers that aren't abandoned must agree by `end`. Docs/Internals/Convergence.md defines cut, view and
//   base.
// - Ghost: an observer that sees every store. Invariants compare the engines with it.

/// The environment of one peer's engine.
struct Situation {
    var isRunning = true
    /// The virtual microsecond until which no frame is handled.
    var pausedUntil: UInt64 = 0
    /// Microseconds that each frame takes.
    var frameCost: UInt64 = 0
    /// Milliseconds by which the wall clock is wrong.
    var clockOffset = 0
    /// The false reachability of the others that the transport reports to the peer; nil if the report is true.
    var claim: Bool?
    /// The virtual microsecond until which its engine isn't ticked.
    var silentUntil: UInt64 = 0
    /// The virtual microsecond until which a slow consumer is busy. Later frames wait.
    var busyUntil: UInt64 = 0
}

/// One seed's run: peers, the network between them and the faults, in virtual time on one thread.
///
/// Until the schedule's `healing` only safety is checked: no invariant may break. Then all faults end, except those of
/// abandoned peers. The other peers must agree by the schedule's `end`.
final class World<Feature: SimulatedFeature> {
    let schedule: Schedule
    let options: SimulationOptions
    var outcome: WorldOutcome
    var network: FrameNetwork
    /// Random numbers for crashes during a step and similar faults. The network has a generator of its own.
    var random: SplitMix64
    var agenda = EventQueue<Step>()
    /// The virtual time in microseconds.
    var now: UInt64 = 0
    var conditions: Conditions
    var replicas: [Replica<Feature>] = []
    var situations: [Situation]
    var ghost = Ghost<Feature>()
    /// The number of sources that peers have used so far.
    var sourceCount = 0
    /// Liveness tokens that peers expect the liar to return.
    var tokensForLiar: [LivenessToken] = []
    var stepCount = 0
    /// Each peer's store at each exchange, in seeds that restore one.
    var backups: [[(time: UInt64, store: StoredMoment<Feature>)]]
    let keepsBackups: Bool
    /// Frames in flight. `routes` has the sender and receiver at the same index.
    private var passages: [Frame<Feature>?] = []
    private var routes: [Route] = []
    private var freeSlots: [Int] = []
    /// Events that each peer's transport delivers together with the next frame, by peer.
    var together: [[Frame<Feature>]]
    /// A separate source of random numbers, so that batching doesn't change the rest of a seed.
    var batchRandom: SplitMix64
    /// True if the transport may deliver several events together. True in half of the seeds.
    let deliversInBatches: Bool
    /// The membership state, in settings where members join and are removed.
    var membership: WorldMembership?

    /// The last recorded state of each peer.
    var recordedStates: [DiagnosticsEntry?]
    private var recordedFrames: UInt64 = 0

    private struct Route {
        let sender: Int
        let receiver: Int
        /// The frame's number in a recording.
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
        batchRandom = SplitMix64(seed: schedule.seed ^ 0x6A74)
        deliversInBatches = batchRandom.happens(rate: 0.5)
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
        membership = schedule.membership.map { WorldMembership($0, peerCount: schedule.peerCount) }
        if membership != nil { stopAbsentPeers() }
    }

    /// True if a store may be restored to an earlier moment.
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
        case .lie(let index): try send(schedule.lies[Int(index)])
        case .mend: mend()
        case .start(let peer): if now < UInt64(schedule.healing) * 1_000 { start(Int(peer)) }
        case .decide: try decide()
        }
    }
}

// MARK: - Time

extension World {
    /// Reports a peer's step to the trace of one seed, and records it.
    /// - Parameter isRecorded: False for steps that a recording shows in another way.
    func trace(_ peer: Int, isRecorded: Bool = true, _ text: () -> String) {
        if isRecorded { record(note: text, of: peer) }
        guard let trace = options.trace else { return }
        trace("\(now / 1_000) ms  \(Schedule.name(of: peer)) \(text())")
    }
}

extension World {
    /// The peer's wall clock in milliseconds.
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
        membership?.heard[peer][route.sender] = now
        if case .control(let envelope) = frame, envelope.payload.group != nil {
            membership?.reported[peer][route.sender] = now
        }
        try handle(frame, at: peer)
        recordState(of: peer)
    }
}
