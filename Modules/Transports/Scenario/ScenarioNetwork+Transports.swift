public import MeshBase
public import MeshDelivery
public import MeshIdentity
public import MeshStorage
public import MeshTransport

extension ScenarioNetwork {
    /// A transport of that peer, which has begun. The network holds it until it goes itself.
    ///
    /// A transport of the same peer that is open still is ended by it, as by the relaunch of an app that has crashed.
    /// - Parameter budget: refuses larger payloads and says how they are written; nil leaves both to delivery.
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

    /// Makes a transport of this network with lanes, configuration and store of your choice.
    ///
    /// - Parameters:
    ///   - lanes: see `ScenarioLanes`.
    ///   - store: what makes a relaunch lose nothing that was accepted.
    /// - Throws: what `LinkTransport` throws for a configuration or a store that cannot be used.
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

    /// Whether one of the transports waits for something that another one is about to say.
    var isAwaitingAnswers: Bool {
        let open = transports.withLock { $0.open }
        return open.values.contains(where: \.isAwaitingAnswers)
    }

    func abandonTransport(of peer: SessionPeer) {
        let transport = transports.withLock { $0.open.removeValue(forKey: peer.id) }
        transport?.abandon()
    }

    /// Every launch of a peer draws differently, and every run of a seed the same.
    private func nextSeed(of peer: SessionPeer) -> UInt64 {
        let launch = transports.withLock { transports in
            transports.launches[peer.id, default: 0] += 1
            return transports.launches[peer.id] ?? 0
        }
        let name = StableHash(Array("\(peer.id)\u{0}\(launch)".utf8))
        return seed ^ name.low
    }
}

/// What a network has made.
struct ScenarioTransports {
    /// By peer id.
    var open: [String: LinkTransport] = [:]
    var launches: [String: Int] = [:]
}
