import MeshBase
import MeshDelivery
import MeshTransport
import MeshVirtualTime

/// The network as a value: packets, faults and timers go in, deliveries come out. It has only its own virtual clock.
/// `ScenarioNetwork` drives it.
///
/// Every direction has its own random generator, seeded by the network's seed and the two peers. So the effects on its
/// packets don't depend on packets in other directions.
struct NetworkCore {
    struct Member {
        let id: String
        /// The peer's open link; nil while there is none.
        var end: End?
        /// True once a link of the peer has opened. The others know the peer from then on.
        var hasJoined = false
        /// The difference of its wall clock to the network's.
        var clockOffset: Duration = .zero
    }

    /// An open link.
    struct End {
        let linkID: UInt64
        let lanes: [LinkLane: PayloadLimit]
        let observer: any LinkObserver

        var hasLiveLanes: Bool { lanes.keys.contains(where: \.isLive) }
        var hasKeptLanes: Bool { lanes.keys.contains { !$0.isLive } }
    }

    /// Scheduled events. Directions and pairs are given by index.
    enum Event {
        case datagram(Int, generation: UInt64, [UInt8])
        /// Bytes of the lane `stream`. An empty piece releases held bytes.
        case piece(Int, generation: UInt64, [UInt8])
        case kept(Int, LinkLane)
        case latest(Int, key: String)
        /// The sending side updates its view of the connection.
        case updateView(Int)
        /// The last packet of a closed link has arrived.
        case end(pair: Int, generation: UInt64)
        /// A connection may begin again after a rest.
        case refresh(Int)
        case wake(@Sendable () -> Void)
    }

    struct Delivery {
        enum Content {
            case found(LinkAddress, as: String?)
            case connected(LinkAddress, as: String?)
            case disconnected(LinkAddress, reason: String?)
            case received([UInt8], on: LinkLane, from: LinkAddress)
            case datagrams([[UInt8]], from: LinkAddress)
            case writable(LinkAddress)
        }

        let member: Int
        let linkID: UInt64
        let observer: any LinkObserver
        let content: Content
    }

    /// The next action of `ScenarioNetwork`, outside the lock.
    enum Step {
        case deliver(Delivery)
        case wake(@Sendable () -> Void)
    }

    let seed: UInt64
    let limits: ScenarioLimits
    var conditions: ScenarioConditions
    /// True if links prove their peers to each other.
    var provesPeers = false
    /// Nanoseconds since the start.
    var now: UInt64 = 0
    /// Peers in the order in which they were first named. Loops over all members use this order.
    var members: [Member] = []
    var directions: [Direction] = []
    var pairs: [Pair] = []
    var events = EventQueue<Event>()
    /// Number of events that are timers.
    var timerCount = 0
    /// Deliveries that are due now.
    var deliveries = FirstInFirstOut<Delivery>()
    var trace: ScenarioTrace
    private var memberIndices: [String: Int] = [:]
    private var directionIndices: [UInt64: Int] = [:]
    private var linkCount: UInt64 = 0

    init(seed: UInt64, conditions: ScenarioConditions, limits: ScenarioLimits, traceLimit: Int) {
        self.seed = seed
        self.conditions = conditions
        self.limits = limits
        self.trace = ScenarioTrace(limit: traceLimit)
    }

    mutating func makeLinkID() -> UInt64 {
        linkCount += 1
        return linkCount
    }

    /// Returns the index of a member, which needn't have joined yet.
    mutating func member(_ id: String) -> Int {
        if let index = memberIndices[id] { return index }
        members.append(Member(id: id))
        memberIndices[id] = members.count - 1
        return members.count - 1
    }

    func knownMember(_ id: String) -> Int? { memberIndices[id] }

    mutating func direction(from: Int, to: Int) -> Int {
        let key = UInt64(from) << 32 | UInt64(to)
        if let index = directionIndices[key] { return index }
        // The lower ID first, so that an index doesn't depend on which peer was named first.
        let (low, high) = members[from].id < members[to].id ? (from, to) : (to, from)
        for (from, to) in [(low, high), (high, low)] {
            directionIndices[UInt64(from) << 32 | UInt64(to)] = directions.count
            directions.append(
                Direction(from: (from, members[from].id), to: (to, members[to].id), seed: seed))
        }
        pairs.append(Pair())
        return directionIndices[key] ?? 0
    }

    mutating func direction(from sender: String, to receiver: String) -> Int {
        direction(from: member(sender), to: member(receiver))
    }

    func conditions(of index: Int) -> ScenarioConditions { directions[index].conditions ?? conditions }

    mutating func drawLatency(_ index: Int) -> UInt64 {
        conditions(of: index).latency.draw(&directions[index].random)
    }

    mutating func schedule(_ event: Event, after delay: UInt64) {
        events.enter(event, at: now.advanced(byNanoseconds: delay))
    }

    mutating func push(_ content: Delivery.Content, to member: Int) {
        guard let end = members[member].end else { return }
        deliveries.append(Delivery(member: member, linkID: end.linkID, observer: end.observer, content: content))
    }
}

// MARK: - Time

extension NetworkCore {
    /// Number of packets and announcements in flight; timers don't count.
    var pendingCount: Int { events.count - timerCount + deliveries.count }

    mutating func wake(at deadline: UInt64, _ body: @escaping @Sendable () -> Void) {
        timerCount += 1
        events.enter(.wake(body), at: max(deadline, now))
    }

    /// Moves to the next event that delivers something or runs a timer, no later than `limit`; nil if there is none.
    /// - Parameter stopsWhenIdle: true to return nil once only timers are left.
    mutating func nextStep(until limit: UInt64, stopsWhenIdle: Bool) -> Step? {
        while true {
            while let delivery = deliveries.takeFirst() {
                // A link that has closed in the meantime gets no more events.
                if members[delivery.member].end?.linkID == delivery.linkID { return .deliver(delivery) }
            }
            if stopsWhenIdle, pendingCount == 0 { return nil }
            guard let time = events.nextTime, time <= limit, let (_, event) = events.take() else { return nil }
            now = max(now, time)
            if case .wake(let body) = event {
                timerCount -= 1
                return .wake(body)
            }
            handle(event)
        }
    }

    private mutating func handle(_ event: Event) {
        switch event {
        case .datagram(let index, let generation, let bytes):
            arriveDatagrams(index, generation: generation, bytes)
        case .piece(let index, let generation, let bytes): arrivePiece(index, generation: generation, bytes)
        case .kept(let index, let lane): arriveKept(index, lane)
        case .latest(let index, let key): arriveLatest(index, key: key)
        case .updateView(let index): updateView(index)
        case .end(let pair, let generation): end(pair, generation: generation)
        case .refresh(let pair): refresh(pair)
        case .wake: break
        }
    }

    /// Removes all members and everything in flight.
    mutating func forget() {
        members = []
        memberIndices = [:]
        directions = []
        directionIndices = [:]
        pairs = []
        events = EventQueue()
        timerCount = 0
        deliveries = FirstInFirstOut()
    }
}
