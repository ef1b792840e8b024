import MeshBus
import MeshIdentity
import MeshTransport

/// One direction between two peers, by their ids.
struct Route: Hashable {
    let from: String
    let to: String

    var reversed: Route { Route(from: to, to: from) }
}

/// What travels.
enum ScenarioMessage {
    case envelope(AnySessionSyncEnvelope)
    case snapshot(AnySessionSyncSnapshot)
    case request(SessionSnapshotRequest)

    /// Order is kept within a feature.
    var featureID: String {
        switch self {
        case .envelope(let envelope): envelope.metadata.featureID
        case .snapshot(let snapshot): snapshot.metadata.featureID
        case .request: ""
        }
    }
}

/// The network as a value: sends and faults in, deliveries out, no clock but its own. `ScenarioNetwork` drives it.
///
/// Every link draws from a generator of its own, seeded by the network's seed and its two ends, so that what one link
/// does to its messages depends on nothing that others send.
struct NetworkCore {
    struct Member {
        let peer: SessionPeer
        /// Nil while no transport of this peer is open.
        var inbox: TransportInbox?
        /// The newest snapshot that it sent to all, by feature: what a late joiner receives.
        var published: [String: AnySessionSyncSnapshot] = [:]
    }

    enum Event {
        case lossyArrival(Route, ScenarioMessage)
        case reliableArrival(Route, featureID: String)
        case latestArrival(Route, featureID: String)
        case reachability(Route)
    }

    struct Delivery {
        enum Content {
            case message(ScenarioMessage)
            case reachability(SessionPeerReachability)
        }

        let inbox: TransportInbox
        let content: Content
    }

    let seed: UInt64
    let queueLimit: Int
    let featureLimit: Int
    var conditions: ScenarioConditions
    /// Nanoseconds since the start.
    var now: UInt64 = 0
    var members: [String: Member] = [:]
    /// The ids of all peers that have ever joined, in that order; everything that concerns all iterates this.
    var joined: [String] = []
    var links: [Route: Link] = [:]
    var events = EventQueue<Event>()
    var trace: ScenarioTrace

    init(seed: UInt64, conditions: ScenarioConditions, queueLimit: Int, featureLimit: Int, traceLimit: Int) {
        self.seed = seed
        self.conditions = conditions
        self.queueLimit = queueLimit
        self.featureLimit = featureLimit
        self.trace = ScenarioTrace(limit: traceLimit)
    }

    /// The link as it is, or as it would be if nobody had used it yet.
    func link(_ route: Route) -> Link { links[route] ?? Link(route, seed: seed) }

    mutating func withLink<Result>(_ route: Route, _ body: (inout Link) throws -> Result) rethrows -> Result {
        try body(&links[route, default: Link(route, seed: seed)])
    }

    mutating func schedule(_ event: Event, after delay: UInt64) {
        events.enter(event, at: now.advanced(byNanoseconds: delay))
    }

    func isOpen(_ route: Route) -> Bool {
        !link(route).isCut && members[route.to]?.inbox != nil
    }

    /// Draws the time that a message takes now, with the repeats that it needs until it is not lost.
    mutating func reliableDelay(_ route: Route) -> UInt64 {
        let conditions = link(route).conditions ?? conditions
        return withLink(route) { link in
            var delay = conditions.latency.draw(&link.random)
            // A rate of 1 would repeat for ever; 64 repeats stand for "very long".
            var repeats = 0
            while link.random.happens(rate: conditions.lossRate), repeats < 64 {
                delay = delay.advanced(byNanoseconds: 2 * conditions.latency.draw(&link.random))
                repeats += 1
            }
            return delay
        }
    }
}

// MARK: - Membership

extension NetworkCore {
    /// Lets a peer in. A transport of the same peer that is open still is replaced, as by a relaunch; its inbox is
    /// returned for the caller to close.
    mutating func join(_ peer: SessionPeer, inbox: TransportInbox) -> TransportInbox? {
        let replaced = members[peer.id]?.inbox
        let isRelaunch = members[peer.id] != nil
        if !isRelaunch { joined.append(peer.id) }
        members[peer.id] = Member(peer: peer, inbox: inbox)
        for other in joined where other != peer.id {
            for route in [Route(from: peer.id, to: other), Route(from: other, to: peer.id)] {
                let claim = claim(route)
                withLink(route) { link in
                    link.isBelievedReachable = claim
                    // The new inbox has been told of nobody, and a relaunch is news to the others.
                    if route.from == peer.id || isRelaunch { link.isAnnouncedReachable = false }
                }
                announceReachability(route)
            }
            publishAgain(Route(from: other, to: peer.id))
            resume(Route(from: other, to: peer.id))
        }
        return replaced
    }

    /// Only the transport with that inbox is removed; another one of the same peer stays.
    mutating func leave(_ id: String, inbox: TransportInbox) {
        guard members[id]?.inbox === inbox else { return }
        members[id]?.inbox = nil
        members[id]?.published = [:]
        for other in joined where other != id {
            announceReachability(Route(from: other, to: id))
        }
    }

    func knownPeers(of id: String) -> [SessionPeer] {
        joined.compactMap { $0 == id ? nil : members[$0]?.peer }
    }

    private mutating func publishAgain(_ route: Route) {
        guard let published = members[route.from]?.published else { return }
        for feature in published.keys.sorted() {
            guard let snapshot = published[feature] else { continue }
            enqueueLatest(snapshot, on: route)
        }
    }
}

// MARK: - Faults

extension NetworkCore {
    mutating func setCut(_ isCut: Bool, _ route: Route) {
        guard link(route).isCut != isCut else { return }
        withLink(route) { $0.isCut = isCut }
        announceReachability(route)
        announceReachability(route.reversed)
        if !isCut { resume(route) }
    }

    mutating func heal() {
        let cut = links.filter(\.value.isCut).keys.sorted { ($0.from, $0.to) < ($1.from, $1.to) }
        for route in cut { setCut(false, route) }
    }

    /// What `route.from` is told of `route.to` from now on; nil tells it the truth.
    mutating func setClaim(_ claim: Bool?, _ route: Route) {
        withLink(route) { $0.claim = claim }
        let believed = self.claim(route)
        withLink(route) { $0.isBelievedReachable = believed }
        schedule(.reachability(route), after: 0)
    }

    /// Reachable means that messages pass both ways, unless somebody lies about it.
    func claim(_ route: Route) -> Bool {
        link(route).claim ?? (isOpen(route) && isOpen(route.reversed))
    }

    mutating func announceReachability(_ route: Route) {
        let latency = (link(route).conditions ?? conditions).latency
        let delay = withLink(route) { latency.draw(&$0.random) }
        schedule(.reachability(route), after: delay)
    }

    /// Sets in motion again what waits for an open link.
    mutating func resume(_ route: Route) {
        guard isOpen(route), let link = links[route] else { return }
        for feature in link.reliable.keys.sorted() {
            guard let lane = link.reliable[feature] else { continue }
            for _ in 0..<(lane.waiting.count - lane.scheduledCount) { scheduleReliable(route, featureID: feature) }
        }
        for feature in link.latest.keys.sorted() { launchLatest(route, featureID: feature) }
    }
}
