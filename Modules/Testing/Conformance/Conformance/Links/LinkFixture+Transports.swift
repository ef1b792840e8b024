import MeshBase
package import MeshDelivery
import MeshIdentity
import MeshStorage
package import MeshTransport

extension LinkFixture {
    /// Returns a fixture for `LinkTransport`s over these links, with faults, stores and crowds.
    package func transports() -> TransportFixture {
        TransportFixture(patience: patience) { try await makePair($0, stores: nil) }
    }

    private func makePair(
        _ codec: any PayloadCodec, stores: [CrashingStore]?, bufferLimit: Int? = nil
    ) async throws -> TransportPair {
        let group = try await makeLinks(min(countMax, stores == nil ? 3 : 2))
        let clock = AdjustableClock(group.clock)
        let faults = LinkFaults(group.links)
        let links = faults.links
        let transports = try links.indices.map { index in
            try transport(index, links[index], group, codec, stores?[index % 2], clock, bufferLimit: bufferLimit)
        }
        for transport in transports { try transport.start() }
        let first = transports[0]
        let limit = first.payloadLimit
        let disconnect = group.connect == nil ? nil : group.disconnect
        var pair = TransportPair(
            first: first, second: transports.count > 1 ? transports[1] : first,
            bystander: transports.count > 2 ? transports[2] : nil, ownSendsComeBack: transports.count == 1,
            limit: limit,
            connect: {
                try await group.connect?()
                faults.mend()
                await meet(transports, group)
            },
            disconnect: {
                guard let disconnect else { return faults.cut() }
                try await disconnect()
            },
            settle: group.settle)
        pair.reconnects = true
        pair.provesPeers = group.peerIDs != nil
        pair.faults = TransportFaults(
            lanes: Set(links[0].lanes.keys), cut: { faults.cut() }, mend: { faults.mend() },
            swallow: { faults.swallow(afterBytes: $0) }, setRoom: { faults.setRoom($0) },
            inject: { faults.inject($0, on: $1, into: transports.count > 1 ? 1 : 0, from: 0) },
            disturb: { faults.disturb(probability: $0) }, jumpClock: { clock.jump(by: $0) },
            holdTime: { clock.hold($0) })
        pair.makeDurable = { try await makePair(codec, stores: [CrashingStore(), CrashingStore()]) }
        pair.makeNarrow = { try await makePair(codec, stores: nil, bufferLimit: TransportPair.narrowLimit) }
        if let stores {
            pair.relaunch = {
                faults.die()
                let kept = stores.map { $0.crash() }
                for transport in transports { await transport.close() }
                return try await makePair(codec, stores: kept)
            }
        }
        if countMax > 2 { pair.makeCrowd = { try await makeCrowd($0, codec) } }
        return pair
    }

    /// Waits until both peers are reachable. With a kept lane, peers know each other before they are reachable. If they
    /// don't become reachable, a rule reports it.
    private func meet(_ transports: [LinkTransport], _ group: LinkGroup) async {
        let lanes = group.links[0].lanes.keys
        guard transports.count > 1, lanes.contains(.queue), lanes.contains(where: \.isLive) else { return }
        let (first, second) = (transports[0], transports[1])
        for _ in 0..<(patience / 4) {
            guard first.health(of: second.localPeer) != .reachable || second.health(of: first.localPeer) != .reachable
            else { return }
            await group.settle()
        }
    }

    private func makeCrowd(_ count: Int, _ codec: any PayloadCodec) async throws -> TransportCrowd {
        let group = try await makeLinks(min(count, countMax))
        let transports = try group.links.enumerated().map { try transport($0, $1, group, codec, nil, group.clock) }
        for transport in transports { try transport.start() }
        return TransportCrowd(ends: transports, connect: { try await group.connect?() }, settle: group.settle)
    }

    private func transport(
        _ index: Int, _ link: any TransportLink, _ group: LinkGroup, _ codec: any PayloadCodec,
        _ store: (any SessionStore)?, _ clock: any DeliveryClock, bufferLimit: Int? = nil
    ) throws -> LinkTransport {
        var configuration = configuration
        configuration.codec = codec
        // Two launches with one store must not draw the same outbox, so they have no fixed seed.
        configuration.seed = store == nil ? UInt64(index) : nil
        if let bufferLimit { configuration.bufferLimit = bufferLimit }
        let peer = SessionPeer(
            id: group.peerIDs?[index] ?? "peer-\(index)", deviceClass: .unknown, appInstanceID: "fixture",
            topology: .sameHost)
        return try LinkTransport(
            localPeer: peer, link: link, configuration: configuration, store: store, clock: clock)
    }
}

/// A store in memory that becomes unusable when its process crashes. Its content survives.
final class CrashingStore: SessionStore {
    private let contents: MemoryStore
    private let hasCrashed = Locked(false)

    init(_ contents: MemoryStore = MemoryStore()) { self.contents = contents }

    /// Makes this process's store unusable.
    /// - Returns: the store for the next process.
    func crash() -> CrashingStore {
        hasCrashed.withLock { $0 = true }
        return CrashingStore(contents)
    }

    var durability: StoreDurability { .memory }

    func commit(_ batch: StoreBatch) throws { try alive().commit(batch) }
    func value(for key: String) throws -> [UInt8]? { try alive().value(for: key) }
    func catalog(prefix: String) throws -> StoreCatalog { try alive().catalog(prefix: prefix) }
    func entries(of journal: String, from position: UInt64, maxBytes: Int) throws -> [StoreEntry] {
        try alive().entries(of: journal, from: position, maxBytes: maxBytes)
    }

    /// Closes this process's store. The content stays for the next process.
    func close() { hasCrashed.withLock { $0 = true } }

    private func alive() throws -> MemoryStore {
        guard !hasCrashed.withLock({ $0 }) else { throw StorageError.closed }
        return contents
    }
}
