import Foundation
import MeshBase
public import MeshConnection
import MeshIdentity
import MeshRegister
import MeshStorage
public import MeshTransport

// The connection and its peers.
extension StorageRouter {
    /// Reads the connection's store and starts the exchange with peers. Values that you set before this call count as later
    /// than stored ones. One that doesn't fit together with the stored ones is dropped: its `status(of:)` is `failed`, and
    /// ``problems`` has `writeFailed`.
    /// - Throws: `KeySyncError.Code.alreadyAttached`; `ConnectionError.idInUse`; an error of the store.
    public func attach(to connection: any SessionConnection) async throws {
        guard self.connection == nil else { throw KeySyncError(.alreadyAttached) }
        try connection.claim(KeyMessage.featureID, for: StorageRouter.self)
        self.connection = connection
        retryTimer = RetryTimer(connection.clock) { [weak self] in Task { await self?.retry() } }
        writeTimer = RetryTimer(connection.clock) { [weak self] in Task { await self?.writePending() } }
        do {
            route = try connection.route(featureID: KeyMessage.featureID) { [weak self] in await self?.receive($0) }
            try load(connection)
        } catch {
            (self.connection, route) = (nil, nil)
            throw error
        }
        attached.withLock { $0 = connection }
        board.touch()
        let reachability = connection.transport.reachabilityChanges()
        listeners.hold([
            Task { [weak self] in
                for await change in reachability {
                    let ids = change.peer.map { [$0.id] } ?? connection.transport.knownPeers.map(\.id)
                    await self?.changeReachability(of: ids, isReachable: change.isReachable)
                }
            }
        ])
        changeReachability(of: connection.transport.knownPeers.map(\.id), isReachable: true)
        await pump()
    }

    /// Attaches to a transport and starts it. All features made with `over:` share the transport's one connection. If you need a
    /// store, a clock or a session, attach to a `TransportConnection`.
    ///
    /// - Parameter transport: started by this call. For a structure, which has no identity, make a `TransportConnection`.
    /// - Throws: `KeySyncError.Code.alreadyAttached`; `ConnectionError.idInUse`.
    public func attach(over transport: any SessionSyncTransport & AnyObject) async throws {
        try await attach(to: TransportConnection.shared(over: transport))
    }

    /// Ends the exchange with peers over the current connection. The values stay here and in the connection's store. A
    /// value set from now on counts as later than those in the next connection's store.
    public func detach() {
        listeners.cancel()
        // If the write fails, keys are pending after the next `attach` until their peers have answered a request.
        try? persist(includingPeers: true)
        (connection, route, replica.peers, peerStore, sent) = (nil, nil, [:], KeyPeerStore(), [:])
        attached.withLock { $0 = nil }
        board.touch()
        writePlan.reset()
        showStatuses()
    }

    /// Forgets a peer that won't come back. If it returns, it is treated as new and may bring back removed values.
    /// - Throws: an error of the store.
    public func forget(peerID: String) throws {
        replica.forget(peerID)
        sent[peerID] = nil
        try persist(includingPeers: true)
        showStatuses()
    }

    private func changeReachability(of ids: [String], isReachable: Bool) {
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
            let error = ConnectionError.incompatiblePeer(reason: "'\(sender)' sent an invalid message about keys")
            connection.diagnostics.publish(
                .deliveryFailed(requestType: KeyMessage.featureID, error: error, willRetry: false))
            return
        }
        let changed = replica.table.changed.map { replica.table.records[$0].name }
        clearFailures(of: changed)
        report(refused: message.refused.map(\.key), by: sender)
        // Values that couldn't be written aren't confirmed, so the peer sends them again.
        received.formUnion(changed)
        do { try persist() } catch { return planWrite(connection) }
        await pump()
    }

    /// Moves the clock beyond the received stamps, so that the next change here replaces the received ones. Returns false if
    /// the clock can't follow.
    private func follow(_ message: KeyMessage, _ connection: any SessionConnection) -> Bool {
        let stamps = message.items.map(\.entry.version.stamp) + [message.piece?.name.version.stamp].compactMap { $0 }
        guard let newest = stamps.max() else { return true }
        connection.observe(newest)
        return newest < connection.stamp()
    }

    // MARK: - Sending

    func pump() async {
        isPumpRequested = true
        guard let connection, !isPumping else { return }
        isPumping = true
        while isPumpRequested {
            isPumpRequested = false
            await sendAll(connection)
        }
        isPumping = false
        showStatuses()
        retryTimer?.wake(at: replica.planRetries(at: connection.clock.elapsed))
        planWrite(connection)
    }

    /// Sends to reachable peers. With an urgent change, and over a transport that can wake a suspended peer, also to
    /// others.
    private func sendAll(_ connection: any SessionConnection) async {
        let canWake = connection.transport.remainingWakes ?? 0 > 0
        let urgent = urgentKeys
        urgentKeys = []
        for peer in connection.transport.knownPeers {
            // More urgent changes may come while a message is being sent.
            while let message = replica.nextMessage(
                to: peer.id, wakes: canWake && !(urgent.isEmpty && urgentKeys.isEmpty))
            {
                do {
                    try persist()
                    let metadata = SessionSyncMetadata(
                        sessionID: connection.sessionID, featureID: KeyMessage.featureID,
                        sourcePeerID: connection.transport.localPeer.id, sequence: 0,
                        causalTimestamp: connection.clock.wall, payloadType: KeyMessage.payloadType,
                        stamp: connection.stamp())
                    let envelope = SessionSyncEnvelope(metadata: metadata, payload: message)
                    if message.items.contains(where: { urgent.contains($0.key) || urgentKeys.contains($0.key) }) {
                        connection.transport.expedite(eventID: metadata.eventID, featureID: KeyMessage.featureID)
                    }
                    try await connection.transport.send(
                        AnySessionSyncEnvelope(envelope), mode: .reliableEventually, to: peer)
                    sent[peer.id] = metadata.eventID
                } catch {
                    replica.undoSend(of: message, to: peer.id)
                    connection.diagnostics.publish(
                        .deliveryFailed(
                            requestType: KeyMessage.featureID, error: ConnectionError(error), willRetry: true))
                    break
                }
            }
        }
    }

    private func retry() async {
        guard let connection else { return }
        replica.tick(at: connection.clock.elapsed) { peerID in
            sent[peerID].map { connection.transport.isWaiting(eventID: $0, featureID: KeyMessage.featureID) } ?? false
        }
        await pump()
    }
}
