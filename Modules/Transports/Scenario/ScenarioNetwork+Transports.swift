public import MeshBase
public import MeshDelivery
public import MeshIdentity
public import MeshStorage
public import MeshTransport

extension ScenarioNetwork {
    /// Creates and starts a transport of a peer. The network holds it while the network lives.
    ///
    /// It replaces an open transport of the same peer, as the relaunch of a crashed app does.
    /// - Parameter budget: the payload limit and the codec; nil leaves both to delivery.
    @discardableResult
    public func makeTransport(
        localPeer: SessionPeer, budget: PayloadBudget? = nil
    ) -> ScenarioSessionSyncTransport {
        var configuration = DeliveryConfiguration()
        if let budget {
            configuration.payloadLimit = budget.limit
            configuration.codec = budget.codec
        }
        do {
            return try makeTransport(localPeer: localPeer, configuration: configuration)
        } catch {
            preconditionFailure("without a store, and with lanes of its own, nothing can fail: \(error)")
        }
    }

    /// Creates a transport of this network with the given lanes, configuration and store.
    ///
    /// - Parameters:
    ///   - lanes: see `ScenarioLanes`.
    ///   - store: keeps accepted messages across relaunches.
    /// - Throws: the errors of `LinkTransport` for an unusable configuration or store.
    @discardableResult
    public func makeTransport(
        localPeer: SessionPeer, lanes: [LinkLane: PayloadLimit] = ScenarioLanes.network,
        configuration: DeliveryConfiguration, store: (any SessionStore)? = nil
    ) throws -> ScenarioSessionSyncTransport {
        var configuration = configuration
        configuration.seed = configuration.seed ?? nextSeed(of: localPeer)
        let transport = try LinkTransport(
            localPeer: localPeer, link: makeLink(localPeer: localPeer, lanes: lanes), configuration: configuration,
            store: store, clock: clock(of: localPeer))
        try transport.start()
        let replaced = transports.withLock { $0.open.updateValue(transport, forKey: localPeer.id) }
        replaced?.abandon()
        return ScenarioSessionSyncTransport(transport)
    }

    /// True if one of the transports waits for a message that another one is about to send.
    var isAwaitingAnswers: Bool {
        let open = transports.withLock { $0.open }
        return open.values.contains(where: \.isAwaitingAnswers)
    }

    func abandonTransport(of peer: SessionPeer) {
        let transport = transports.withLock { $0.open.removeValue(forKey: peer.id) }
        transport?.abandon()
    }

    /// Returns a seed that differs for each launch of a peer and is equal in each run with the network's seed.
    private func nextSeed(of peer: SessionPeer) -> UInt64 {
        let launch = transports.withLock { transports in
            transports.launches[peer.id, default: 0] += 1
            return transports.launches[peer.id] ?? 0
        }
        let name = StableHash(Array("\(peer.id)\u{0}\(launch)".utf8))
        return seed ^ name.low
    }
}

/// The transports of a network.
struct ScenarioTransports {
    /// The open transports, by peer ID.
    var open: [String: LinkTransport] = [:]
    var launches: [String: Int] = [:]
}
