public import MeshBase
public import MeshFoundation
public import MeshIdentity
public import MeshTransport

/// A network in virtual time, whose effects on packets follow from one seed.
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
/// Packets arrive and timers run only inside `advance(by:)` and `runUntilIdle()`, on the calling thread. Equal seeds
/// and equal calls give equal traces. The effects in one direction between two peers depend only on the seed, the two
/// peers and the packets sent in that direction. Safe to use from any thread. Calls of `advance` and `runUntilIdle`
/// take turns, and must not be made from within the code that they call.
///
/// Two peers are connected while packets pass in both directions; they learn of it after a latency. If both directions
/// are blocked, the connection breaks, and its packets in flight are lost. A new one begins when both are open again.
/// If only one direction is blocked, neither peer is notified: packets in that direction are lost, or wait on the lane
/// `stream`. The network releases its links when it is deallocated.
public final class ScenarioNetwork: Sendable {
    /// The seed of the network's effects on packets.
    public let seed: UInt64
    /// The virtual wall clock's first moment.
    public let start: Date
    let core: Locked<NetworkCore>
    let transports = Locked(ScenarioTransports())
    private let turn = Locked(())

    /// Creates a network without peers whose behavior follows from a seed.
    ///
    /// - Parameters:
    ///   - conditions: the conditions of every direction without its own.
    ///   - start: by default midnight UTC, 1 January 2026.
    ///   - queueLimit: maximum number of packets that each of the lanes `queue` and `file` keeps per direction before a
    ///     send throws `full`.
    ///   - traceLimit: maximum number of entries that `trace` keeps, the newest.
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

    /// Creates an end of the network for a peer. It joins when it is opened.
    public func makeLink(
        localPeer: SessionPeer, lanes: [LinkLane: PayloadLimit] = ScenarioLanes.network
    ) -> ScenarioLink {
        ScenarioLink(peerID: localPeer.id, lanes: lanes, core: core)
    }
}

extension ScenarioNetwork {
    /// Makes links prove their peers to each other and encrypt, like those of paired devices.
    package func provePeers() { core.withLock { $0.provesPeers = true } }
}

// MARK: - Time

extension ScenarioNetwork {
    /// The network's virtual time, for code that isn't a peer.
    public var clock: ScenarioClock { ScenarioClock(core: core, start: start, peerID: nil) }

    /// Returns the virtual time as a peer sees it.
    public func clock(of peer: SessionPeer) -> ScenarioClock {
        ScenarioClock(core: core, start: start, peerID: peer.id)
    }

    /// Sets the difference between a peer's wall clock and the network's. A change makes the wall clock jump. Timers
    /// aren't affected.
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

    /// Delivers what is due within the duration, runs the timers in between, and moves the clock forward. A negative
    /// duration moves nothing.
    /// - Returns: number of packets and announcements that were delivered.
    @discardableResult
    public func advance(by duration: Duration) -> Int {
        turn.withLock { _ in
            let target = core.withLock { $0.now.advanced(byNanoseconds: duration.nanoseconds) }
            let count = run(until: target, stopsWhenIdle: false)
            core.withLock { $0.now = max($0.now, target) }
            return count
        }
    }

    /// Delivers packets in flight and runs the timers in between, until nothing is in flight and no transport of this
    /// network waits for an answer. Moves the clock to the last of these events. Probes of healthy peers don't count,
    /// nor do timers of other code, nor packets behind a partition.
    ///
    /// - Parameter limit: virtual time after which it ends in any case. A peer without an answer keeps trying, and with
    ///   long latencies a probe may always be in flight.
    /// - Returns: number of packets and announcements that were delivered.
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

    /// Number of packets and announcements in flight. Timers don't count.
    public var pendingCount: Int { core.withLock { $0.pendingCount } }

    /// The newest entries, up to `traceLimit`: packets that were delivered or lost, and changes of connections.
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
    /// The conditions of every direction without its own. Packets in flight keep their arrival time.
    public var conditions: ScenarioConditions {
        get { core.withLock { $0.conditions } }
        set { core.withLock { $0.conditions = newValue } }
    }

    /// Sets the conditions of one direction; nil restores the network's.
    public func setConditions(_ conditions: ScenarioConditions?, from sender: SessionPeer, to receiver: SessionPeer) {
        withDirection(from: sender, to: receiver) { $0.directions[$1].conditions = conditions }
    }

    /// Blocks packets between peers of different groups, in both directions, until `heal`. Peers in no group aren't
    /// affected.
    ///
    /// Their connections break. Both sides learn of it after a latency; until then their packets are accepted and lost.
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

    /// Blocks packets in one direction. The other direction stays as it is, and neither peer is notified.
    public func partition(from sender: SessionPeer, to receiver: SessionPeer) {
        withDirection(from: sender, to: receiver) { $0.setCut(true, $1) }
    }

    /// Ends every partition: peers connect again, and packets that the network has kept are delivered.
    public func heal() {
        core.withLock { $0.heal() }
    }

    /// Sets what the network tells one peer about its connection to another, true or false, from the next delivery on.
    /// nil restores the truth.
    ///
    /// A peer that believes that there is no connection can't use it, and misses what is sent to it. The other side
    /// notices nothing until it is connected again.
    public func setReachable(_ isReachable: Bool?, of peer: SessionPeer, seenBy observer: SessionPeer) {
        withDirection(from: observer, to: peer) { $0.setClaimedReachability(isReachable, $1) }
    }

    /// Ends a peer's link as if its process had died: its packets in flight are lost, except on lanes that the network
    /// keeps. Another link of the same peer counts as its relaunch.
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
