import Foundation
import MeshBase
import MeshConnection
import MeshIdentity
import MeshRegister
import MeshStorage
import MeshTransport

// Work off the main actor: reading and writing the store, and sending.
extension StateReplica {
    /// Performs steps until nothing is left to do. Keeps the replica alive meanwhile, so the last change of a released state is
    /// still written and handed to the transport.
    func work() {
        guard !isWorking, errors.refusal == nil else { return }
        isWorking = true
        Task { [transport = connection.transport] in
            while let step = nextStep() {
                if isUrgent, case .send(let snapshot, _) = step {
                    transport.expedite(eventID: snapshot.metadata.eventID, featureID: featureID)
                }
                do {
                    finish(step, .success(try await step.perform(on: transport)))
                } catch {
                    finish(step, .failure(error))
                }
            }
        }
    }

    private func nextStep() -> StateStep? {
        if let step = storeStep() ?? sendStep() { return step }
        isWorking = false
        if isLoaded { isUrgent = false }
        showProgress()
        // A reachable peer may need time to confirm the state.
        if hasReasonToRetry { retryTimer.wake(at: retries.plan(at: connection.clock.elapsed)) }
        return nil
    }

    private func finish(_ step: StateStep, _ result: Result<StateArchive?, any Error>) {
        switch (step, result) {
        case (.load, .success(let archive)): adopt(archive)
        case (.load, .failure(let error)):
            // The stored bytes stay: a newer version may read them, or the disk may come back.
            errors.storing = error
            isStoreUsable = false
            adopt(nil)
        case (.save(_, _, let archive, let change), .success):
            (stored, storedCount) = (archive.register.vector, change)
            errors.storing = nil
            showStored()
        case (.save, .failure(let error)):
            errors.storing = error
            shouldTryStore = false
        case (.send, .success): errors.sending = nil
        case (.send(_, let peer), .failure(let error)):
            errors.sending = ConnectionError(error)
            if let peer { peers[peer.id]?.sent = nil } else { hasFailedToPublish = true }
        case (.report, _): break
        }
    }

    // MARK: - The store

    private var storeKey: String { StateArchive.storeKey(featureID, connection.sessionID) }

    private func storeStep() -> StateStep? {
        guard let store = connection.store, isStoreUsable else { return nil }
        if !isLoaded { return .load(store, key: storeKey) }
        guard changeCount != storedCount, shouldTryStore else { return nil }
        let archive = StateArchive(author: author, register: register, peers: peers, clock: connection.stamp())
        return .save(store, key: storeKey, archive, change: changeCount)
    }

    private func adopt(_ archive: StateArchive?) {
        isLoaded = true
        var isRepaired = false
        if var archive {
            isRepaired = archive.repair(as: connection.transport.localPeer.id)
            author = archive.author
            // Peers that were forgotten or excluded while the store was being read stay so.
            peers = archive.peers.filter { !forgotten.contains($0.key) && !excludedPeers.contains($0.key) }
            turn = peers.values.map(\.turn).max() ?? 0
            register = archive.register(as: coder.merge.kind)
            for stamp in register.stamps + [archive.clock ?? .zero] { connection.resume(at: stamp) }
            provisional = StateVersion.provisional(author, launch: .random(in: 0 ... .max))
            ownAtStart = register.vector.stamps[author] ?? .zero
        }
        stored = register.vector
        adopt(unversioned: unversionedValues)
        unversionedValues = []
        // Changes made while the store was read count as later than its content.
        writeChangesBeforeLoad()
        let hasChanged = !changesBeforeLoad.isEmpty || isRepaired
        changesBeforeLoad = [:]
        show()
        if hasChanged { changed() } else { showProgress() }
        begin()
    }

    // MARK: - Sending

    private func sendStep() -> StateStep? {
        guard isLoaded else { return nil }
        let known = connection.transport.knownPeers
        if known.isEmpty { return publishStep() }
        for peer in known {
            guard var record = peers[peer.id] ?? makeRecord(for: peer.id), record.isDue || record.owesReport else {
                continue
            }
            let step = step(to: peer, &record)
            peers[peer.id] = record
            if let step { return step }
        }
        return nil
    }

    private func step(to peer: SessionPeer, _ record: inout StatePeer) -> StateStep? {
        defer { (record.isDue, record.owesReport) = (false, false) }
        let isReadable = record.isEarlier == false || coder.isReadableByOldVersions(register)
        let items = record.isDue && isReadable ? register.entries(missingFrom: record.known) : []
        var message = message(items, to: record)
        if !isReadable {
            // Sends no items: a peer that can't read them would also overwrite fields that it doesn't see.
            message.asks = record.isDue && (record.asks || record.isEarlier == nil)
            record.asks = false
            if record.isEarlier == true { withhold(from: peer) }
            guard record.owesReport || message.asks else { return nil }
            message.isReport = true
            return .report(envelope(message), to: peer)
        }
        if record.isEarlier == true { errors.withheld = nil }
        if record.isDue, record.lacksFallback(register) { message.fallback = register.fallback }
        if !items.isEmpty || message.fallback != nil || (record.isDue && record.asks) {
            record.sent = register.vector
            record.sentFallback = register.fallback?.version
            record.asks = false
            return .send(snapshot(message), to: peer)
        }
        guard record.owesReport else { return nil }
        message.isReport = true
        message.asks = false
        return .report(envelope(message), to: peer)
    }

    private func withhold(from peer: SessionPeer) {
        let error = ConnectionError.incompatiblePeer(
            reason:
                "'\(peer.id)' has a version of SessionMesh that can't read NaN or infinity: update its app, or share "
                + "other numbers")
        if errors.withheld == nil {
            connection.diagnostics.publish(.deliveryFailed(requestType: featureID, error: error, willRetry: true))
        }
        errors.withheld = error
    }

    /// Returns the record of a new peer, which gets everything; nil if there is nothing to send, or the peer is excluded.
    private func makeRecord(for id: String) -> StatePeer? {
        guard !register.isEmpty, !forgotten.contains(id), !excludedPeers.contains(id) else { return nil }
        var record = StatePeer()
        record.isDue = true
        record.asks = true
        return record
    }

    /// Publishes the complete state while no peer is known, for the first one that appears.
    private func publishStep() -> StateStep? {
        guard !register.isEmpty, published != register.vector, coder.isReadableByOldVersions(register) else {
            return nil
        }
        published = register.vector
        var record = StatePeer()
        record.asks = true
        return .send(snapshot(message(register.entries(missingFrom: record.known), to: record)), to: nil)
    }

    private func message(_ items: [StateMessage.Item], to record: StatePeer) -> StateMessage {
        // A complete message doesn't depend on anything that the receiver has seen.
        let isAll = items.count == register.slots.values.reduce(0) { $0 + $1.count }
        let isBehind = isStoreUsable && changeCount != storedCount
        return StateMessage(
            kind: register.kind, incarnation: incarnation, heard: record.incarnation ?? 0, has: register.vector,
            stored: isBehind ? stored : nil,
            base: isAll ? nil : record.known, items: items, forgotten: register.forgotten,
            holds: register.needsFallback ? register.fallback?.version : nil,
            asks: record.asks, lost: record.lost.map(\.item), shape: record.asks ? coder.shape : nil)
    }

    private func snapshot(_ message: StateMessage) -> SessionSyncSnapshot<StateMessage> {
        revision += 1
        return SessionSyncSnapshot(
            metadata: metadata(sequence: revision), revision: revision, state: message, peerSequenceVector: [:])
    }

    private func envelope(_ message: StateMessage) -> SessionSyncEnvelope<StateMessage> {
        SessionSyncEnvelope(metadata: metadata(), payload: message)
    }

    /// - Parameter sequence: 0 for a message outside the sequence, which gets an ID of its own.
    private func metadata(sequence: UInt64 = 0) -> SessionSyncMetadata {
        SessionSyncMetadata(
            sessionID: connection.sessionID, featureID: featureID, sourcePeerID: connection.transport.localPeer.id,
            sequence: sequence, causalTimestamp: connection.clock.wall, payloadType: StateMessage.payloadType,
            stamp: connection.stamp(), incarnation: incarnation)
    }

    // MARK: - Retrying

    /// Brings the next retry forward, because a peer is back or was heard.
    func bringRetryForward() { retryTimer.wake(at: retries.bringForward(at: connection.clock.elapsed)) }

    private var hasReasonToRetry: Bool {
        errors.storing != nil && isStoreUsable || errors.route != nil || hasFailedToPublish
            || !lackingAndReachable.isEmpty
    }

    private var lackingAndReachable: [String] {
        reachable.filter { peers[$0]?.lacks(register) ?? false }.sorted()
    }

    func retry() {
        guard retries.takeDue(at: connection.clock.elapsed) else { return retryTimer.wake(at: retries.dueAt) }
        shouldTryStore = true
        if hasFailedToPublish { (hasFailedToPublish, published) = (false, nil) }
        openRoute()
        for id in lackingAndReachable { peers[id]?.isDue = true }
        work()
    }
}
