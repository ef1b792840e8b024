import MeshBus
public import MeshIdentity
public import MeshTransport

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// A network in virtual time: what it does to messages follows from one seed.
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
/// Nothing arrives by itself: deliveries happen inside `advance(by:)` and `runUntilIdle()`, on the thread that calls
/// them. Equal seeds and equal calls give equal traces; what a link does depends on the seed, its two ends and what is
/// sent on it, not on other links. Safe to use from any thread; calls of `advance` and `runUntilIdle` take turns.
///
/// Peers that have joined know each other for good. A new transport of a peer that has one already replaces it, as a
/// relaunch does; reliable messages that wait for a closed one wait for the next of the same peer.
public final class ScenarioNetwork: Sendable {
    public let seed: UInt64
    /// The virtual wall clock's first moment.
    public let start: Date
    private let core: Locked<NetworkCore>
    private let turn = Locked(())

    /// - Parameters:
    ///   - conditions: of every link without its own.
    ///   - start: by default midnight UTC, 1 January 2026.
    ///   - queueLimit: reliable messages that wait on one link before a send throws `queueFull`.
    ///   - traceLimit: entries that `trace` keeps, the newest.
    public init(
        seed: UInt64, conditions: ScenarioConditions = .calm, start: Date = Date(timeIntervalSince1970: 1_767_225_600),
        queueLimit: Int = 4096, traceLimit: Int = 65_536
    ) {
        self.seed = seed
        self.start = start
        core = Locked(
            NetworkCore(
                seed: seed, conditions: conditions, queueLimit: queueLimit, featureLimit: 256, traceLimit: traceLimit))
    }

    /// An end of the network for that peer. It receives the newest snapshot of each feature that others have sent.
    /// - Parameter budget: refuses larger payloads; nil carries any size.
    public func makeTransport(
        localPeer: SessionPeer, budget: PayloadBudget? = nil
    ) -> ScenarioSessionSyncTransport {
        let inbox = TransportInbox()
        let replaced = core.withLock { $0.join(localPeer, inbox: inbox) }
        replaced?.close()
        return ScenarioSessionSyncTransport(localPeer: localPeer, network: self, budget: budget, inbox: inbox)
    }
}

// MARK: - Time

extension ScenarioNetwork {
    /// The virtual wall clock.
    public var now: Date {
        let nanoseconds = core.withLock { $0.now }
        return start.addingTimeInterval(Double(nanoseconds) / 1_000_000_000)
    }

    /// Virtual time since the start; never jumps back.
    public var elapsed: Duration { Duration(nanoseconds: core.withLock { $0.now }) }

    /// Delivers what is due within that time and moves the clock there. Negative durations move nothing.
    /// - Returns: how many messages and announcements were handed over.
    @discardableResult
    public func advance(by duration: Duration) -> Int {
        turn.withLock { _ in
            let target = core.withLock { $0.now.advanced(byNanoseconds: duration.nanoseconds) }
            let count = deliver(until: target)
            core.withLock { $0.now = max($0.now, target) }
            return count
        }
    }

    /// Delivers everything that is under way and moves the clock to the last arrival. What waits behind a partition
    /// stays there.
    /// - Returns: how many messages and announcements were handed over.
    @discardableResult
    public func runUntilIdle() -> Int {
        turn.withLock { _ in deliver(until: .max) }
    }

    /// Messages and announcements that are under way; 0 when `runUntilIdle` would do nothing.
    public var pendingCount: Int { core.withLock { $0.events.count } }

    /// What was delivered and lost so far: the newest entries, up to `traceLimit`.
    public var trace: [ScenarioTraceEntry] { core.withLock { $0.trace.entries } }

    private func deliver(until limit: UInt64) -> Int {
        var count = 0
        while let delivery = core.withLock({ $0.nextDelivery(until: limit) }) {
            switch delivery.content {
            case .message(.envelope(let envelope)): delivery.inbox.deliver(envelope)
            case .message(.snapshot(let snapshot)): delivery.inbox.deliver(snapshot)
            case .message(.request(let request)): delivery.inbox.deliver(request)
            case .reachability(let change): delivery.inbox.deliver(change)
            }
            count += 1
        }
        return count
    }
}

// MARK: - Faults

extension ScenarioNetwork {
    /// Of every link without its own. What is under way already keeps its time.
    public var conditions: ScenarioConditions {
        get { core.withLock { $0.conditions } }
        set { core.withLock { $0.conditions = newValue } }
    }

    /// Conditions of one direction; nil gives it the network's again.
    public func setConditions(_ conditions: ScenarioConditions?, from sender: SessionPeer, to receiver: SessionPeer) {
        core.withLock { $0.withLink(Route(from: sender.id, to: receiver.id)) { $0.conditions = conditions } }
    }

    /// Lets nothing pass between peers of different groups, either way, until `heal`. Peers in no group are as before.
    ///
    /// Both sides learn of it after a latency; until then best-effort messages are accepted and lost. Peers may be named
    /// before they join.
    public func partition(_ groups: [SessionPeer]...) {
        core.withLock { core in
            for (index, group) in groups.enumerated() {
                for other in groups[(index + 1)...].joined() {
                    for peer in group where peer.id != other.id {
                        core.setCut(true, Route(from: peer.id, to: other.id))
                        core.setCut(true, Route(from: other.id, to: peer.id))
                    }
                }
            }
        }
    }

    /// Lets nothing pass in that direction; the other one stays as it is.
    public func partition(from sender: SessionPeer, to receiver: SessionPeer) {
        core.withLock { $0.setCut(true, Route(from: sender.id, to: receiver.id)) }
    }

    /// Ends every partition and sets in motion what waited: reliable messages in order, and the newest snapshots.
    public func heal() {
        core.withLock { $0.heal() }
    }

    /// Tells one peer that another is reachable or not, whether that is true or not; nil tells the truth again.
    ///
    /// The observer's best-effort sends go by it at once; its streams announce it at the next delivery.
    public func setReachable(_ isReachable: Bool?, of peer: SessionPeer, seenBy observer: SessionPeer) {
        core.withLock { $0.setClaim(isReachable, Route(from: observer.id, to: peer.id)) }
    }
}

// MARK: - For its transports

extension ScenarioNetwork {
    func accept(
        _ message: ScenarioMessage, mode: SessionDeliveryMode, from transport: ScenarioSessionSyncTransport,
        to receiver: SessionPeer?
    ) throws {
        try core.withLock {
            try $0.accept(
                message, mode: mode, from: transport.localPeer.id, inbox: transport.inbox, to: receiver)
        }
    }

    func knownPeers(of id: String) -> [SessionPeer] { core.withLock { $0.knownPeers(of: id) } }

    func leave(_ transport: ScenarioSessionSyncTransport) {
        core.withLock { $0.leave(transport.localPeer.id, inbox: transport.inbox) }
    }
}
