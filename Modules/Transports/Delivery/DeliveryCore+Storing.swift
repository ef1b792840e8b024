import MeshIdentity
import MeshTransport
import MeshWire

extension DeliveryCore {
    /// Continues with changes that are now stored: sends accepted messages, and passes on and acknowledges received
    /// ones.
    mutating func stored(_ changes: [DeliveryChange], _ now: DeliveryTime) {
        for change in changes {
            switch change {
            case .accepted(let peerID, let key, let number, _, _):
                guard let index = peerIndex[peerID], let channel = peers[index].existingChannel(key) else { continue }
                peers[index].channels[channel].stored(upTo: number)
                markWritable(index)
            case .received(let peerID, let key, let number, let message):
                noteStored(message)
                guard let index = peerIndex[peerID] else { continue }
                peers[index].incoming[key]?.noteStored(number)
                peers[index].noteStored(message.heldBytes)
                peers[index].budget.release(message.heldBytes, as: .messages)
                handOver(message)
                noteReceipt(key, index, now)
            case .cancelled, .truncated, .published, .newest, .met, .forgotten, .outboxForgotten, .pending: break
            }
        }
        if peers.contains(where: { !$0.stalled.isEmpty }) { directives.isStalled = true }
    }

    /// Reverts changes that the store refused. Accepted messages are withdrawn. Received messages, and those that
    /// waited for the first peer, are tried again later.
    mutating func notStored(_ changes: [DeliveryChange], reason: String, _ now: DeliveryTime) {
        report(.storeFailed(reason: reason))
        var promised: [(element: PendingDeliveryQueue.Element, expiresAt: UInt64?)] = []
        var received: [(index: Int, key: ChannelKey, number: UInt64, message: WireMessage)] = []
        for change in changes {
            switch change {
            case .accepted(let peerID, let key, _, _, _):
                guard let index = peerIndex[peerID], let channel = peers[index].existingChannel(key) else { continue }
                let gone = peers[index].channels[channel].withdrawUnstored()
                peers[index].outstandingCount -= gone.count
                peers[index].outstandingBytes -= gone.reduce(0) { $0 + $1.byteCount }
                promised += gone.reversed().filter(\.isPromised).compactMap(\.pendingElement)
            case .received(let peerID, let key, let number, let message):
                noteStored(message)
                if let index = peerIndex[peerID] { received.append((index, key, number, message)) }
            case .pending: retryPending(now)
            case .cancelled, .truncated, .published, .newest, .met, .forgotten, .outboxForgotten: break
            }
        }
        for item in received {
            peers[item.index].incoming[item.key]?.putBack([(item.number, item.message)])
            peers[item.index].incoming[item.key]?.noteStored(item.number)
            peers[item.index].noteStored(item.message.heldBytes)
            if let metadata = item.message.metadata { peers[item.index].recent.remove(MessageID(metadata)) }
            if !peers[item.index].stalled.contains(item.key) { peers[item.index].stalled.append(item.key) }
        }
        if !received.isEmpty { wake(by: now.elapsed + Self.storeInterval) }
        if !promised.isEmpty { putBackPending(promised, now) }
        directives.resumesWaiters = true
    }

    /// Nanoseconds between a failed write and the next try.
    static var storeInterval: UInt64 { 1_000_000_000 }
}

extension OutgoingChannel.Entry {
    /// The message as an element of the pending queue.
    fileprivate var pendingElement: (element: PendingDeliveryQueue.Element, expiresAt: UInt64?)? {
        let options = DeliveryOptions(priority: priority)
        switch message {
        case .envelope(let envelope): return (.envelope(envelope, options), expiresAt)
        case .snapshot(let snapshot): return (.snapshot(snapshot, isLatest: false, options), expiresAt)
        case .hello, .snapshotRequest, .goodbye, .report: return nil
        }
    }
}

// MARK: - Restoring

extension DeliveryCore {
    /// A message that an earlier launch accepted for a peer.
    struct RestoredEntry {
        let message: WireMessage
        let expiresAt: UInt64?
        let isCancelled: Bool
    }

    /// Restores the unacknowledged messages of a channel of an earlier launch.
    mutating func restore(
        _ entries: [RestoredEntry], from first: UInt64, of key: ChannelKey, for peer: SessionPeer, _ now: DeliveryTime
    ) {
        let index = restore(peer)
        var channel = OutgoingChannel(key, first: first)
        for restored in entries {
            let byteCount = restored.message.payloadBytes
            var entry = OutgoingChannel.Entry(message: restored.message, byteCount: byteCount, priority: .normal)
            guard !restored.isCancelled else {
                channel.appendVoid(entry)
                continue
            }
            if let expiresAt = restored.expiresAt {
                entry.expiresAt = expiresAt
                let left =
                    expiresAt > now.wall
                    ? (expiresAt - now.wall).multipliedReportingOverflow(by: 1_000_000) : (0, false)
                entry.deadline = left.1 ? .max : now.elapsed &+ left.0
                peers[index].earliestDeadline = min(peers[index].earliestDeadline, entry.deadline)
                wake(by: entry.deadline)
            }
            _ = channel.append(entry)
            peers[index].outstandingCount += 1
            peers[index].outstandingBytes += byteCount
        }
        peers[index].restore(channel)
    }

    /// Restores a peer as a guest. Sessions name their guests again after a launch.
    mutating func restoreGuest(_ peer: SessionPeer) { peers[restore(peer)].isGuest = true }

    @discardableResult
    mutating func restore(_ peer: SessionPeer) -> Int {
        if let index = peerIndex[peer.id] { return index }
        peers.append(DeliveryPeer(peer, outbox: outbox, rules: silenceRules(toward: peer)))
        peerIndex[peer.id] = peers.count - 1
        return peers.count - 1
    }

    mutating func restore(next: UInt64, of key: ChannelKey, from peer: SessionPeer) {
        peers[restore(peer)].restore(IncomingChannel(first: next), as: key)
    }

    mutating func restore(newest snapshot: AnySessionSyncSnapshot, _ mark: WireMark, from peer: SessionPeer) {
        let index = restore(peer)
        peers[index].noteNewest(mark, of: snapshot.metadata.featureID)
        peers[index].keep(snapshot)
    }

    mutating func restore(_ offer: LatestOffer) {
        let feature = offer.snapshot.metadata.featureID
        if published[feature] == nil { publishedOrder.append(feature) }
        published[feature] = offer
        lastVersion = max(lastVersion, offer.version)
    }

    mutating func forget(_ peerID: String) {
        guard let index = peerIndex[peerID] else { return }
        if let address = peers[index].address { directives.connectionsToEnd.append((address, WireGoodbye(.closing))) }
        if settings.isDurable { directives.changes.append(.forgotten(peerID: peerID)) }
        peers.remove(at: index)
        forgottenCount &+= 1
        peerIndex = Dictionary(uniqueKeysWithValues: peers.enumerated().map { ($1.peer.id, $0) })
        directives.resumesWaiters = true
    }
}
