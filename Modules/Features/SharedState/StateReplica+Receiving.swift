import MeshBase
import MeshConnection
import MeshIdentity
import MeshRegister
import MeshTransport

// Receiving messages.
extension StateReplica {
    func receive(_ snapshot: AnySessionSyncSnapshot) {
        receive(snapshot.metadata) { try snapshot.decodeState(as: StateMessage.self) }
    }

    func receive(_ envelope: AnySessionSyncEnvelope) {
        receive(envelope.metadata) { try envelope.decodePayload(as: StateMessage.self) }
    }

    func receive(_ request: SessionSnapshotRequest) {
        guard request.sessionID == connection.sessionID else { return }
        for peer in connection.transport.knownPeers where request.requester.map({ $0.id == peer.id }) ?? true {
            scheduleExchange(with: peer.id)
        }
        published = nil
        work()
    }

    func receive(_ change: SessionPeerReachability) {
        let ids = change.peer.map { [$0.id] } ?? connection.transport.knownPeers.map(\.id)
        guard change.isReachable else { return reachable.subtract(ids) }
        reachable.formUnion(ids)
        cleared.subtract(ids)
        bringRetryForward()
        for id in ids where peers[id].map({ !$0.hasResponded || $0.lacks(register) }) ?? true {
            scheduleExchange(with: id)
        }
        work()
    }

    /// Schedules a message to a peer with everything that it lacks, and a request for everything that this replica lacks.
    func scheduleExchange(with id: String) {
        guard !excludedPeers.contains(id) else { return }
        forgotten.remove(id)
        peers[id, default: StatePeer()].isDue = true
        peers[id]?.asks = true
        boundPeers()
    }

    private func boundPeers() {
        guard peers.count > StateLimits.peersMax else { return }
        // Keeps the peers that the transport knows. If forgotten, they would count as new and would be sent everything
        // again.
        let known = Set(connection.transport.knownPeers.map(\.id))
        let silent = peers.filter { !known.contains($0.key) }
            .sorted { ($0.value.turn, $0.key) < ($1.value.turn, $1.key) }
        for (id, _) in silent.prefix(peers.count - StateLimits.peersMax) { peers[id] = nil }
    }

    private func receive(_ metadata: SessionSyncMetadata, _ decode: () throws -> StateMessage) {
        let sender = metadata.sourcePeerID
        guard metadata.featureID == featureID, metadata.sessionID == connection.sessionID,
            sender != connection.transport.localPeer.id
        else { return }
        clearSuspicion(of: sender)
        var isUnderstood = false
        do {
            try StateMessage.check(metadata.payloadType)
            let message = try decode()
            isUnderstood = true
            guard message.kind == register.kind else {
                reportMerge(message.kind, of: sender)
                throw ConnectionError.incompatiblePeer(
                    reason:
                        "'\(featureID)' is merged by '\(message.kind)' on that device and by '\(register.kind)' on this one"
                )
            }
            solveProblems(of: sender)
            // A change made here adds all initial fields, so they count too.
            let own = register.kind == .fields ? Set(coder.initialFields.keys) : []
            let count = own.union(register.slots.keys).union(message.items.map(\.name)).count
            guard count <= StateLimits.fieldsMax else { throw StateLimits.tooManyFields(count) }
            // The register doesn't store this stamp, so later changes needn't exceed it. The ceiling bounds it.
            connection.observe(min(metadata.stamp, .ceiling))
            try advanceClock(for: message, from: sender)
            try apply(message, from: sender)
            errors.incompatible = nil
        } catch {
            if !isUnderstood { reportVersion(error, of: sender) }
            refuse(error as? ConnectionError ?? .incompatiblePeer(reason: "\(error)"), of: sender)
            showProgress()
        }
        work()
    }

    /// Notes an error. Diagnostics report it once for each sender.
    private func refuse(_ error: ConnectionError, of sender: String) {
        errors.incompatible = error
        guard reportedRefusals.count < StateLimits.peersMax, reportedRefusals.insert(sender).inserted else { return }
        connection.diagnostics.publish(
            .deliveryFailed(requestType: featureID, error: error, willRetry: false))
    }

    /// Refuses a message with a stamp that is unusable, or that this device's clock can't exceed yet: no change could
    /// replace its entries. In the second case, this call moves the clock closer to the stamp, and the sender is asked
    /// to repeat its message.
    /// - Throws: `incompatiblePeer`.
    private func advanceClock(for message: StateMessage, from sender: String) throws(ConnectionError) {
        guard let newest = message.stamps.max() else { return }
        guard newest.isUsable else {
            throw .incompatiblePeer(reason: "'\(sender)' sent a stamp that is out of range")
        }
        connection.observe(newest)
        let latest = connection.stamp()
        guard newest < latest else {
            let distance = newest.rawValue - latest.rawValue
            if !message.isReport, distance <= StateLimits.catchUpMax { scheduleExchange(with: sender) }
            // Saves the clock's progress, because one launch may be too short to catch up.
            changeCount += 1
            throw .incompatiblePeer(reason: "the clock of '\(sender)' is too far ahead to be adopted at once")
        }
        reportAhead(newest, of: sender)
    }

    /// Reports a stamp far ahead in the diagnostics. It is accepted, because clocks can be wrong.
    private func reportAhead(_ stamp: HybridTimestamp, of sender: String) {
        let wall = connection.clock.wall.millisecondsSince1970
        let ahead = stamp.milliseconds.subtractingReportingOverflow(wall)
        guard !ahead.overflow, ahead.partialValue > StateLimits.aheadMilliseconds, !reportedAhead.contains(sender),
            reportedAhead.count < StateLimits.peersMax
        else { return }
        reportedAhead.insert(sender)
        let reason = "'\(sender)' sent a stamp \(ahead.partialValue / 86_400_000) days ahead of this device's clock"
        connection.diagnostics.publish(
            .deliveryFailed(
                requestType: featureID, error: .remoteError(description: reason), willRetry: false))
    }

    /// - Throws: `payloadTooLarge`. Nothing of the message is then taken.
    private func apply(_ message: StateMessage, from sender: String) throws(ConnectionError) {
        replaceAuthorIfStoreIsOld(message.has)
        let isAnswer = message.heard == incarnation
        let reportedConflicts = message.lost.compactMap(register.conflict)
        var merged = register
        var outcome = StateRegister.Outcome()
        if !message.isReport {
            outcome = merged.merge(
                message.items, has: message.has, base: message.base, forgotten: message.forgotten)
        }
        if let fallback = message.fallback, merged.adopt(fallback: fallback) { outcome.isChanged = true }
        if !message.items.isEmpty { try merged.check(grownFrom: register, by: message) }
        register = merged
        if outcome.hasForgottenAuthors { incarnation = .random(in: 0 ... .max) }
        noteContents(of: message, from: sender, isDamaged: outcome.senderLacksSeenEntries || outcome.hasDropped)
        if isAnswer, register.vector.includes(message.has.part(of: author)) { peers[sender]?.hasConfirmedAuthor = true }
        confirmAuthor()
        if outcome.isIncomplete { scheduleExchange(with: sender) }
        if message.asks || !message.items.isEmpty || message.fallback != nil { peers[sender]?.owesReport = true }
        note(outcome.conflicts + reportedConflicts)
        if outcome.isChanged { show() }
        register.forgetRemoved(knownTo: peers.values.map(\.known), keeping: coder.initialFields.keys)
        changed()
    }

    private func noteContents(of message: StateMessage, from sender: String, isDamaged: Bool) {
        var peer = peers[sender] ?? StatePeer()
        let seen = message.stored ?? message.has
        let isSameIncarnation = peer.incarnation == message.incarnation && !isDamaged
        if isSameIncarnation {
            peer.known.join(seen)
        } else {
            peer.known = isDamaged ? StateVector() : seen
            peer.sent = nil
        }
        peer.known.keep(authorsOf: register.vector)
        peer.forgetLost(knownTo: message.base)
        peer.incarnation = message.incarnation
        peer.holds = message.holds
        peer.hasResponded = true
        if peer.isEarlier == true, message.heard != nil { errors.withheld = nil }
        peer.isEarlier = message.heard == nil
        turn += 1
        peer.turn = turn
        peers[sender] = peer
        forgotten.remove(sender)
        bringRetryForward()
        boundPeers()
    }

    /// Ends the provisional author once each known peer has answered in this launch, and has shown that it knows no
    /// change of this author that is missing here. A store restored from a backup lacks its author's last changes. If
    /// the author continued, its next change would mark them as seen here ("Restored stores" in
    /// Docs/Guides/SharedState.md).
    private func confirmAuthor() {
        guard provisional != nil, peers.values.allSatisfy(\.hasConfirmedAuthor) else { return }
        provisional = nil
        register.confirm(author)
    }

    /// Takes a new author if a peer has seen changes of this author that are missing here: the store is an older copy. This
    /// launch's changes move to the new author, so that no peer takes them for the lost ones.
    private func replaceAuthorIfStoreIsOld(_ has: StateVector) {
        guard let theirs = has.stamps[author], theirs > register.vector.stamps[author] ?? .zero else { return }
        let forgetful = author
        author = StateVersion.author(
            peerID: connection.transport.localPeer.id, incarnation: .random(in: 0 ... .max))
        register.rename(forgetful, to: author, since: ownAtStart) { connection.stamp() }
        changeCount += 1
        (ownAtStart, provisional) = (.zero, nil)
    }
}
