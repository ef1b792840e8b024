import Foundation
import MeshBus
public import MeshConnection
import MeshIdentity
import MeshRegister
import MeshStorage
import MeshTransport

// The connection and the store.
extension StorageRouter {
    /// Reads the connection's store, and from then on keeps the keys of all peers alike. Values set before count as later
    /// than what is stored.
    /// - Throws: `KeySyncError.Code.alreadyAttached`; `ConnectionError.idInUse`; what the store throws.
    public func attach(to connection: any SessionConnection) async throws {
        guard self.connection == nil else { throw KeySyncError(.alreadyAttached) }
        try connection.claim(KeyMessage.featureID, for: StorageRouter.self)
        self.connection = connection
        do {
            route = try connection.route(featureID: KeyMessage.featureID) { [weak self] in await self?.receive($0) }
            try load(connection)
        } catch {
            (self.connection, route) = (nil, nil)
            throw error
        }
        let reachability = connection.transport.reachabilityChanges()
        listeners.hold([
            Task { [weak self] in
                for await change in reachability {
                    let ids = change.peer.map { [$0.id] } ?? connection.transport.knownPeers.map(\.id)
                    await self?.note(ids, isReachable: change.isReachable)
                }
            }
        ])
        note(connection.transport.knownPeers.map(\.id), isReachable: true)
        await pump()
    }

    /// Ends it. The values stay here and in the connection's store; what is set from now on counts as later than what the
    /// store of the next connection has.
    public func detach() {
        listeners.cancel()
        (connection, route, replica.peers) = (nil, nil, [:])
        showStatuses()
    }

    /// Waits no more for a peer that will not come back.
    public func forget(peerID: String) { replica.forget(peerID) }

    private func note(_ ids: [String], isReachable: Bool) {
        for id in ids { isReachable ? replica.meet(id) : replica.lose(id) }
        Task { await pump() }
    }

    private func receive(_ envelope: AnySessionSyncEnvelope) async {
        guard let connection, envelope.metadata.sessionID == connection.sessionID else { return }
        let sender = envelope.metadata.sourcePeerID
        guard envelope.metadata.payloadType == KeyMessage.payloadType,
            let message = try? envelope.decodePayload(as: KeyMessage.self), message.isSound,
            follow(message, connection), replica.receive(message, from: sender)
        else {
            let error = ConnectionError.incompatiblePeer(reason: "'\(sender)' says of keys what is not understood here")
            connection.diagnostics.publish(
                .deliveryFailed(requestType: KeyMessage.featureID, error: error, willRetry: false))
            return
        }
        let changed = replica.changed
        for name in changed { failures[name] = nil }
        // What could not be written is not confirmed: the peer sends it again.
        do { try persist() } catch { return }
        show(changed)
        await pump()
    }

    /// Whether the clock here exceeds what came, so that the next change of anybody replaces it.
    private func follow(_ message: KeyMessage, _ connection: any SessionConnection) -> Bool {
        guard let newest = message.items.map(\.entry.version.stamp).max() else { return true }
        connection.observe(newest)
        return newest < connection.stamp()
    }

    // MARK: - Sending

    func pump() async {
        isPumpAsked = true
        guard let connection, !isPumping else { return }
        isPumping = true
        while isPumpAsked {
            isPumpAsked = false
            await sendAll(connection)
        }
        isPumping = false
        showStatuses()
        planRetry(connection)
    }

    private func sendAll(_ connection: any SessionConnection) async {
        for peer in connection.transport.knownPeers {
            while let message = replica.nextMessage(to: peer.id) {
                do {
                    try persist()
                    let metadata = SessionSyncMetadata(
                        sessionID: connection.sessionID, featureID: KeyMessage.featureID,
                        sourcePeerID: connection.transport.localPeer.id, sequence: 0,
                        causalTimestamp: connection.clock.wall, payloadType: KeyMessage.payloadType,
                        stamp: connection.stamp())
                    let envelope = SessionSyncEnvelope(metadata: metadata, payload: message)
                    try await connection.transport.send(
                        AnySessionSyncEnvelope(envelope), mode: .reliableEventually, to: peer)
                } catch {
                    connection.diagnostics.publish(
                        .deliveryFailed(
                            requestType: KeyMessage.featureID, error: ConnectionError(error), willRetry: true))
                    break
                }
            }
        }
    }

    private func planRetry(_ connection: any SessionConnection) {
        replica.tick(at: connection.clock.elapsed)
        let times = replica.peers.values.filter { $0.isReachable && $0.isWaiting }.compactMap(\.retryAt)
        guard let next = times.min(), !isRetryPlanned else { return }
        isRetryPlanned = true
        connection.clock.wake(at: next) { [weak self] in Task { await self?.retry() } }
    }

    private func retry() async {
        isRetryPlanned = false
        if let connection { replica.tick(at: connection.clock.elapsed) }
        await pump()
    }

    // MARK: - The store

    private static let entryPrefix = "sessionmesh.keys/entry/"
    private static let authorKey = "sessionmesh.keys/author"

    private func load(_ connection: any SessionConnection) throws {
        var entries: [String: StateEntry] = [:]
        var author = StateVersion.author(
            peerID: connection.transport.localPeer.id, incarnation: .random(in: 0 ... .max))
        if let store = connection.store {
            if let kept = try store.value(for: Self.authorKey) {
                author = String(decoding: kept, as: UTF8.self)
            } else {
                var batch = StoreBatch()
                batch.set(Array(author.utf8), for: Self.authorKey)
                try store.commit(batch)
            }
            for key in try store.catalog(prefix: Self.entryPrefix).keys {
                let name = String(key.dropFirst(Self.entryPrefix.count))
                do {
                    let bytes = try store.value(for: key) ?? []
                    entries[name] = try StateEntry(stored: bytes)
                } catch {
                    failures[name] = "what is stored cannot be read, and stays until it is set again: \(error)"
                }
            }
        }
        var loaded = KeyReplica(author: author, entries: entries, nonce: .random(in: 0 ... .max))
        (loaded.configuration, loaded.rules) = (replica.configuration, replica.rules)
        if let limit = connection.transport.capabilities.maximumPayloadSize {
            // Names, authors and prints want room beside the values.
            loaded.configuration.messageBytes = max(min(loaded.configuration.messageBytes, limit * 3 / 4), 1)
        }
        loaded.isLinkSecured = connection.transport.capabilities.isSecured
        for entry in entries.values { connection.resume(at: entry.version.stamp) }
        // What an earlier connection has brought.
        for (name, entry) in replica.entries where loaded.entries[name].map({ entry.wins(over: $0) }) ?? true {
            connection.resume(at: entry.version.stamp)
            guard loaded.put(entry, name) else {
                throw KeySyncError(.tooLarge(key: name, bytes: entry.bytes?.count ?? 0))
            }
        }
        for (name, data) in early.sorted(by: { $0.key < $1.key }) {
            guard loaded.set(data, name, at: connection.stamp()) else {
                throw KeySyncError(.tooLarge(key: name, bytes: data?.count ?? 0))
            }
        }
        (replica, early) = (loaded, [:])
        try persist()
        show(Set(replica.entries.keys))
    }

    /// Writes what has changed, in one batch.
    func persist() throws {
        guard let store = connection?.store, !replica.changed.isEmpty else {
            replica.changed = []
            return
        }
        var batch = StoreBatch()
        for name in replica.changed.sorted() {
            if let entry = replica.entries[name] {
                batch.set(entry.stored(), for: Self.entryPrefix + name)
            } else {
                batch.removeValue(for: Self.entryPrefix + name)
            }
        }
        try store.commit(batch)
        replica.changed = []
    }
}
