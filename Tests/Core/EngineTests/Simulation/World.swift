import Foundation
import MeshBus
import MeshEngine
import MeshIdentity

/// A tap whose effect depends on the order.
struct Tap: Codable, Hashable, Sendable {
    var id: Int
    /// The policy may refuse it.
    var isGuarded: Bool
}

struct TapReducer: SessionSyncReducer {
    func reduce(state: inout [Int], event: Tap, context: SessionEventContext) { state.append(event.id) }
}

struct TapPolicy: SessionConflictPolicy {
    func shouldApply(event: Tap, context: SessionConflictContext<[Int]>) -> Bool {
        guard event.isGuarded, let last = context.state.last else { return true }
        return last % 3 != event.id % 3
    }
}

typealias TapEngine = SessionSyncEngine<[Int], Tap, TapReducer, TapPolicy>

/// Engines, their stores and a bad network in virtual time, all from one seed.
///
/// Most seeds have two peers, every fifth three to five that never lose a store. The network loses, duplicates, delays
/// and partitions; peers crash before and after writing, lose their stores, pause, and their clocks jump. After that
/// everything heals and all have to agree.
final class World {
    enum Message {
        case event(SessionSyncEnvelope<Tap>)
        case control(SessionSyncEnvelope<SessionControl>)
        case checkpoint(SessionCheckpoint<[Int], Tap>, SessionSyncMetadata)
        case state(SessionSyncSnapshot<[Int]>)
    }

    /// What a peer's disk has.
    struct Disk {
        var image: SessionEngineImage<[Int], Tap>
        /// Confirmed here, as the checks see it.
        var confirmed: [Int] = []
    }

    struct Broken: Error, CustomStringConvertible { var description: String }

    static let sessionID = UUID(uuid: (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16))

    let seed: UInt64
    let mutations: EngineMutations
    var random: Random
    var now = 0.0
    var end = 0.0
    private var queue = Agenda()

    let size: Int
    let bound: Int
    var loss: Double
    let duplication: Double
    let latency: (least: Double, mean: Double)
    var tail: Double
    var crashRate: Double
    var skew: [Double]
    var isUp: [Bool]
    var pausedUntil: [Double]
    var severed: Set<[Int]> = []

    var engines: [TapEngine] = []
    var disks: [Disk] = []
    var confirmed: [[Int]] = []
    var isUnsaved: [Bool] = []
    var lives: [Int] = []

    // What the checks know.
    var accepted: Set<Int> = []
    var mayBeLost: Set<Int> = []
    var eventIDs: [Int: UUID] = [:]
    var nextID = 0
    var streams: [SessionSource: [UInt64: Int]] = [:]
    var effects: [[Int]: Set<Int>] = [:]
    var statistics: [String: Int] = [:]
    var failure: String?

    init(seed: UInt64, mutations: EngineMutations = []) {
        self.seed = seed
        self.mutations = mutations
        var random = Random(seed: seed)
        size = seed % 5 != 0 ? 2 : 3 + Int(seed / 5 % 3)
        bound = random.pick([12, 40, 400])
        loss = random.pick([0, 0.05, 0.2, 0.4])
        duplication = random.pick([0, 0.1, 0.3])
        latency = (random.pick([0, 1, 5]), random.pick([5, 30, 150]))
        tail = random.pick([0, 0.03, 0.1])
        crashRate = random.pick([0, 0, 0.01, 0.03])
        skew = []
        for _ in 0..<size { skew.append(random.pick([0, 0, -500, 800, -20_000, 60_000, 3_600_000])) }
        isUp = Array(repeating: true, count: size)
        pausedUntil = Array(repeating: 0, count: size)
        lives = Array(repeating: 0, count: size)
        let sources = (0..<size).map { SessionSource(peerID: "peer\($0)", incarnation: random.bits()) }
        let isPaired = size > 2 || random.chance(0.3)
        self.random = random
        for source in sources {
            let engine = makeEngine(source, members: isPaired ? sources : [])
            engines.append(engine)
            disks.append(Disk(image: engine.image))
            confirmed.append([])
            isUnsaved.append(false)
        }
    }

    func makeEngine(_ source: SessionSource, members: [SessionSource] = []) -> TapEngine {
        TapEngine(
            sessionID: Self.sessionID, featureID: "taps", localPeerID: source.peerID, payloadType: "tap",
            snapshotPayloadType: "taps", initialState: [], reducer: TapReducer(), conflictPolicy: TapPolicy(),
            incarnation: source.incarnation, seed: random.next(), members: members, options: options)
    }

    var options: SessionEngineOptions<[Int], Tap> {
        var options = SessionEngineOptions<[Int], Tap>()
        options.ownUnconfirmedMax = bound
        options.gapMax = 16
        options.rangeMax = 24
        options.keepsSideEffects = true
        options.mutations = mutations
        return options
    }

    func wall(_ peer: Int) -> Date {
        Date(timeIntervalSince1970: (max(1, (now + skew[peer] + 1e7).rounded(.down))) / 1000)
    }

    func count(_ name: String, _ number: Int = 1) { statistics[name, default: 0] += number }
    func highest(_ name: String, _ number: Int) {
        statistics["max \(name)"] = max(statistics["max \(name)"] ?? 0, number)
    }
    func at(_ delay: Double, _ action: @escaping () throws -> Void) { queue.add(now + delay, action) }

    // MARK: - Run

    func run(operations: Int = 80, span: Double = 3000) {
        end = span * 3
        for peer in 0..<size { at(random.unit() * 50) { [unowned self] in try digest(peer) } }
        for _ in 0..<operations {
            let moment = pow(random.unit(), random.pick([1, 2])) * span
            at(moment) { [unowned self] in try operate(random.below(size)) }
        }
        planFaults(span)
        at(span * 1.9) { [unowned self] in heal() }
        do {
            while let (moment, action) = queue.next(until: end) {
                now = moment
                try action()
            }
            try checkEnd()
        } catch {
            failure = "seed \(seed) t=\(Int(now)): \(error)"
        }
        queue = Agenda()
    }

    // MARK: - Steps

    func operate(_ peer: Int) throws {
        guard isUp[peer], now >= pausedUntil[peer] else { return }
        nextID += 1
        let id = nextID
        let envelope: SessionSyncEnvelope<Tap>
        do {
            envelope = try engines[peer].submitLocal(Tap(id: id, isGuarded: random.chance(0.4)), at: wall(peer))
        } catch SessionSyncError.logFull {
            return count("logFull")
        }
        if random.chance(crashRate) { return try relaunch(peer) }
        try persist(peer)
        accepted.insert(id)
        eventIDs[id] = envelope.metadata.eventID
        for other in 0..<size where other != peer { transmit(peer, other, .event(envelope)) }
        try settle(peer)
    }

    func digest(_ peer: Int) throws {
        if isUp[peer], now >= pausedUntil[peer] {
            engines[peer].tick(at: wall(peer))
            for other in 0..<size where other != peer && !engines[peer].isSealed && random.chance(0.1) {
                try persist(peer)
                transmit(peer, other, .state(engines[peer].makeSnapshot(at: wall(peer))))
            }
            try settle(peer)
        }
        if now < end { at(40 + random.unit() * 20) { [unowned self] in try digest(peer) } }
    }

    func deliver(_ peer: Int, _ message: Message) throws {
        guard isUp[peer] else { return }
        if now < pausedUntil[peer] {
            return at(pausedUntil[peer] - now) { [unowned self] in try deliver(peer, message) }
        }
        count("frames")
        switch message {
        case .event(let envelope):
            _ = try engines[peer].receive(envelope)
            let depth = engines[peer].takeApplied().map(\.replayedCount).max() ?? 0
            if depth > 0 { count("rollbacks") }
            highest("depth", depth)
        case .control(let envelope): try engines[peer].receiveControl(envelope, at: wall(peer))
        case .checkpoint(let checkpoint, let metadata):
            let confirmedBefore = engines[peer].isSealed ? engines[peer].confirmedCount : 0
            if try engines[peer].adopt(checkpoint, from: metadata, at: wall(peer)) {
                count("copies adopted")
                if confirmedBefore > 0 {
                    throw Broken(description: "\(engines[peer].source) adopts over confirmed events")
                }
                confirmed[peer] = []
            }
        case .state(let snapshot): _ = try engines[peer].applySnapshot(snapshot)
        }
        highest("gap", engines[peer].gapCount)
        highest("log", engines[peer].logCount)
        if random.chance(crashRate / 4) { return try relaunch(peer) }
        try settle(peer)
    }

    /// Side effects, persist, then send.
    func settle(_ peer: Int) throws {
        try persistAndSend(peer)
        if try runEffects(peer) { try persistAndSend(peer) }
    }

    private func persistAndSend(_ peer: Int) throws {
        let directives = engines[peer].takeDirectives()
        try check(directives.alarms, of: peer)
        for event in directives.confirmed { try checkConfirmed(event, at: peer) }
        confirmed[peer] += directives.confirmed.map(\.envelope.payload.id)
        if directives.persist != nil { isUnsaved[peer] = true }
        // An idle promise costs no write: only what the directives ask for is written, and only when something leaves.
        let leaves = !directives.outgoing.isEmpty && !mutations.contains(.sendBeforePersist)
        if leaves && isUnsaved[peer] || !directives.confirmed.isEmpty { save(peer) }
        for outgoing in directives.outgoing {
            switch outgoing {
            case .control(let envelope, let to): send(peer, to, .control(envelope))
            case .events(let envelopes, let to): for envelope in envelopes { send(peer, to, .event(envelope)) }
            case .checkpoint(let checkpoint, let metadata, let to):
                send(peer, to, .checkpoint(checkpoint, metadata))
                if random.chance(0.3) { send(peer, to, .state(engines[peer].makeSnapshot(at: wall(peer)))) }
            }
        }
    }

    /// Writes the store without sending.
    func persist(_ peer: Int) throws {
        try persistAndSend(peer)
        save(peer)
    }

    private func save(_ peer: Int) {
        disks[peer] = Disk(image: engines[peer].image, confirmed: confirmed[peer])
        isUnsaved[peer] = false
    }

    /// - Returns: whether anything ran.
    private func runEffects(_ peer: Int) throws -> Bool {
        let due = engines[peer].sideEffectsDue
        guard let last = due.last else { return false }
        save(peer)
        effects[[peer, lives[peer]], default: []].formUnion(due.map(\.envelope.payload.id))
        if random.chance(crashRate) {
            try relaunch(peer)
            return false
        }
        engines[peer].markSideEffects(through: last.position)
        return true
    }

    private func send(_ peer: Int, _ to: String?, _ message: Message) {
        for other in 0..<size where other != peer && (to == nil || to == "peer\(other)") {
            transmit(peer, other, message)
        }
    }

    private func transmit(_ peer: Int, _ other: Int, _ message: Message) {
        guard !severed.contains([peer, other]) else { return }
        for _ in 0..<(random.chance(duplication) ? 2 : 1) {
            if random.chance(loss) { continue }
            var delay = latency.least + random.exponential(latency.mean)
            if random.chance(tail) { delay += random.unit() * 2500 }
            at(delay) { [unowned self] in try deliver(other, message) }
        }
    }
}

/// Things to do, earliest first; of the same moment, first come first.
struct Agenda {
    private var heap: [(moment: Double, ticket: Int, action: () throws -> Void)] = []
    private var tickets = 0

    mutating func add(_ moment: Double, _ action: @escaping () throws -> Void) {
        tickets += 1
        heap.append((moment, tickets, action))
        var child = heap.count - 1
        while child > 0, precedes(child, (child - 1) / 2) {
            heap.swapAt(child, (child - 1) / 2)
            child = (child - 1) / 2
        }
    }

    mutating func next(until end: Double) -> (Double, () throws -> Void)? {
        guard let first = heap.first, first.moment <= end else { return nil }
        heap.swapAt(0, heap.count - 1)
        heap.removeLast()
        var parent = 0
        while true {
            var least = parent
            for child in [parent * 2 + 1, parent * 2 + 2] where child < heap.count && precedes(child, least) {
                least = child
            }
            if least == parent { return (first.moment, first.action) }
            heap.swapAt(parent, least)
            parent = least
        }
    }

    private func precedes(_ left: Int, _ right: Int) -> Bool {
        (heap[left].moment, heap[left].ticket) < (heap[right].moment, heap[right].ticket)
    }
}

/// The draws that a simulation needs.
struct Random {
    private var generator: SplitMix64

    init(seed: UInt64) { generator = SplitMix64(seed: seed &* 0x9e37_79b9_7f4a_7c15 &+ 0x1234_5678) }

    mutating func next() -> UInt64 { generator.next() }
    mutating func bits() -> UInt32 { UInt32(truncatingIfNeeded: next()) }
    mutating func unit() -> Double { generator.fraction() }
    mutating func below(_ bound: Int) -> Int { Int(next() % UInt64(bound)) }
    mutating func chance(_ probability: Double) -> Bool { unit() < probability }
    mutating func pick<Value>(_ values: [Value]) -> Value { values[below(values.count)] }
    mutating func exponential(_ mean: Double) -> Double { -log(1 - unit()) * mean }
}
