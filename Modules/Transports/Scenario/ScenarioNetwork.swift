public import MeshBase
public import MeshFoundation
public import MeshIdentity
public import MeshTransport

/// A network in virtual time: what it does to packets follows from one seed.
///
/// ```swift
/// let network = ScenarioNetwork(seed: 7)
/// let phone = network.makeTransport(localPeer: phonePeer)
/// let watch = network.makeTransport(localPeer: watchPeer)
/// network.partition([phonePeer], [watchPeer])
/// try await phone.send(envelope, mode: .reliableEventually, to: nil)
/// network.heal()
/// network.advance(by: .seconds(1))
/// ```
///
/// Nothing arrives by itself: packets arrive and timers run inside `advance(by:)` and `runUntilIdle()`, on the thread that
/// calls them. Equal seeds and equal calls give equal traces; what a direction between two peers does depends on the
/// seed, its two ends and what is sent on it, not on others. Safe to use from any thread; calls of `advance` and
/// `runUntilIdle` take turns, and must not be made by what they call.
///
/// Two peers are connected while packets pass both ways, and learn of it after a latency. When neither way is open any
/// more the connection breaks, and what was under way on it is lost; a new one follows when both are. While only one
/// way is cut neither peer is told: packets that way vanish, or wait on the lane `stream`. The network forgets its
/// links when it goes.
public final class ScenarioNetwork: Sendable {
    /// The seed that decides everything the network does to packets.
    public let seed: UInt64
    /// The virtual wall clock's first moment.
    public let start: Date
    let core: Locked<NetworkCore>
    let transports = Locked(ScenarioTransports())
    private let turn = Locked(())

    /// Creates a network without peers whose behavior follows from a seed.
    ///
    /// - Parameters:
    ///   - conditions: of every direction without its own.
    ///   - start: by default midnight UTC, 1 January 2026.
    ///   - queueLimit: packets that the lanes `queue` and `file` keep in each direction before a send throws `full`.
    ///   - traceLimit: entries that `trace` keeps, the newest.
    public init(
        seed: UInt64, conditions: ScenarioConditions = .calm, start: Date = Date(timeIntervalSince1970: 1_767_225_600),
        queueLimit: Int = 4096, traceLimit: Int = 65_536
    ) {
        self.seed = seed
        self.start = start
        core = Locked(
            NetworkCore(
                seed: seed, conditions: conditions, limits: ScenarioLimits(keptPackets: queueLimit),
                traceLimit: traceLimit))
    }

    deinit { core.withLock { $0.forget() } }

    /// An end of the network for that peer, which joins when it is opened.
    public func makeLink(
        localPeer: SessionPeer, lanes: [LinkLane: PayloadLimit] = ScenarioLanes.network
    ) -> ScenarioLink {
        ScenarioLink(peerID: localPeer.id, lanes: lanes, core: core)
    }
}

extension ScenarioNetwork {
    /// From now on links prove to each other who is there and encrypt, as those of paired devices do.
    package func provePeers() { core.withLock { $0.provesPeers = true } }
}

// MARK: - Time

extension ScenarioNetwork {
    /// The network's virtual time, for code that isn't a peer.
    public var clock: ScenarioClock { ScenarioClock(core: core, start: start, peerID: nil) }

    /// Virtual time as that peer sees it.
    public func clock(of peer: SessionPeer) -> ScenarioClock {
        ScenarioClock(core: core, start: start, peerID: peer.id)
    }

    /// Sets by how much a peer's wall clock is ahead of the network's; a jump when it changes. Timers do not notice.
    public func setClockOffset(_ offset: Duration, of peer: SessionPeer) {
        core.withLock { core in
            let member = core.member(peer.id)
            core.members[member].clockOffset = offset
        }
    }

    /// The virtual wall clock.
    public var now: Date { clock.wall }

    /// Virtual time since the start; never jumps back.
    public var elapsed: Duration { clock.elapsed }

    /// Delivers what is due within that time, runs the timers between, and moves the clock there. Negative durations move
    /// nothing.
    /// - Returns: how many packets and announcements were handed over.
    @discardableResult
    public func advance(by duration: Duration) -> Int {
        turn.withLock { _ in
            let target = core.withLock { $0.now.advanced(byNanoseconds: duration.nanoseconds) }
            let count = run(until: target, stopsWhenIdle: false)
            core.withLock { $0.now = max($0.now, target) }
            return count
        }
    }

    /// Delivers what is under way and runs the timers between, until nothing is under way and no transport of this network
    /// waits for an answer; moves the clock to the last of it. Probes of peers that are well do not count, nor do timers
    /// of others, nor what waits behind a partition.
    ///
    /// - Parameter limit: virtual time after which it ends in any case. A peer without an answer keeps trying, and with
    ///   long latencies there may always be a probe on its way.
    /// - Returns: how many packets and announcements were handed over.
    @discardableResult
    public func runUntilIdle(within limit: Duration = .seconds(120)) -> Int {
        turn.withLock { _ in
            let end = core.withLock { $0.now.advanced(byNanoseconds: limit.nanoseconds) }
            var count = run(until: end, stopsWhenIdle: true)
            while isAwaitingAnswers, let step = core.withLock({ $0.nextStep(until: end, stopsWhenIdle: false) }) {
                count += perform(step) + run(until: end, stopsWhenIdle: true)
            }
            return count
        }
    }

    /// Packets and announcements that are under way. Timers do not count.
    public var pendingCount: Int { core.withLock { $0.pendingCount } }

    /// The newest packets that were delivered or lost, up to `traceLimit`.
    public var trace: [ScenarioTraceEntry] { core.withLock { $0.trace.entries } }

    private func run(until limit: UInt64, stopsWhenIdle: Bool) -> Int {
        var count = 0
        while let step = core.withLock({ $0.nextStep(until: limit, stopsWhenIdle: stopsWhenIdle) }) {
            count += perform(step)
        }
        return count
    }

    private func perform(_ step: NetworkCore.Step) -> Int {
        switch step {
        case .deliver(let delivery):
            delivery.perform()
            return delivery.count
        case .wake(let body):
            body()
            return 0
        }
    }
}

extension NetworkCore.Delivery {
    fileprivate var count: Int { if case .datagrams(let datagrams, _) = content { datagrams.count } else { 1 } }

    fileprivate func perform() {
        switch content {
        case .found(let address, let peerID): observer.found(address, as: peerID)
        case .connected(let address, let peerID): observer.connected(address, as: peerID)
        case .disconnected(let address, let reason): observer.disconnected(address, reason: reason)
        case .received(let bytes, let lane, let address): observer.received(bytes, on: lane, from: address)
        case .datagrams(let datagrams, let address): observer.received(datagrams: datagrams, from: address)
        case .writable(let address): observer.writable(address)
        }
    }
}

// MARK: - Faults

extension ScenarioNetwork {
    /// The conditions of every direction without its own. Packets under way keep their arrival time.
    public var conditions: ScenarioConditions {
        get { core.withLock { $0.conditions } }
        set { core.withLock { $0.conditions = newValue } }
    }

    /// Conditions of one direction; nil gives it the network's again.
    public func setConditions(_ conditions: ScenarioConditions?, from sender: SessionPeer, to receiver: SessionPeer) {
        withDirection(from: sender, to: receiver) { $0.directions[$1].conditions = conditions }
    }

    /// Lets nothing pass between peers of different groups, either way, until `heal`. Peers in no group are as before.
    ///
    /// Their connections break. Both sides learn of it after a latency; until then what they send is accepted and lost.
    /// Peers may be named before they join.
    public func partition(_ groups: [SessionPeer]...) {
        for (index, group) in groups.enumerated() {
            for other in groups[(index + 1)...].joined() {
                for peer in group {
                    partition(from: peer, to: other)
                    partition(from: other, to: peer)
                }
            }
        }
    }

    /// Blocks packets in one direction. The other direction stays as it is, and neither peer is told.
    public func partition(from sender: SessionPeer, to receiver: SessionPeer) {
        withDirection(from: sender, to: receiver) { $0.setCut(true, $1) }
    }

    /// Ends every partition: peers are connected anew, and what the network has kept for them goes on.
    public func heal() {
        core.withLock { $0.heal() }
    }

    /// Tells one peer at the next delivery that it is connected to another or not, whether that is true or not; nil tells
    /// the truth again.
    ///
    /// Who is told that there is no connection cannot use it, and misses what is sent to it. The other side notices nothing
    /// until it is connected anew.
    public func setReachable(_ isReachable: Bool?, of peer: SessionPeer, seenBy observer: SessionPeer) {
        withDirection(from: observer, to: peer) { $0.setClaim(isReachable, $1) }
    }

    /// Ends a peer's link as if its process had died: what is under way from it is lost, except on lanes that the network
    /// keeps. Another link of the same peer is its relaunch.
    public func crash(_ peer: SessionPeer) {
        let observer = core.withLock { $0.crash(peer.id) }
        observer?.failed("crashed")
        abandonTransport(of: peer)
    }

    private func withDirection(
        from sender: SessionPeer, to receiver: SessionPeer, _ body: (inout NetworkCore, Int) -> Void
    ) {
        guard sender.id != receiver.id else { return }
        core.withLock { core in
            let index = core.direction(from: sender.id, to: receiver.id)
            body(&core, index)
        }
    }
}
