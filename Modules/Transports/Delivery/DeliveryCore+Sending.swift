import MeshBase
import MeshFoundation
import MeshIdentity
import MeshTransport
import MeshWire

extension DeliveryCore {
    /// A message with an encoded payload.
    struct Item {
        let message: WireMessage
        let byteCount: Int
        var options = DeliveryOptions()
        /// True if `send` has returned although the message had no receiver yet: it waited for the first peer.
        var isPromised = false
    }

    enum Admission {
        case accepted
        /// The message wasn't accepted; try again when there is space.
        case full
    }

    /// Accepts a message for every receiver, or for none.
    /// - Throws: `SessionSyncError` with `unknownPeer`, `notReachable`, `queueFull` or `unsupportedDeliveryMode`.
    mutating func send(
        _ item: Item, mode: SessionDeliveryMode, to peerID: String?, _ now: DeliveryTime
    ) throws(SessionSyncError) -> Admission {
        let receivers = try receivers(peerID, of: item.message, mode)
        if loopBack(item, mode: mode) { return .accepted }
        switch (mode, item.message) {
        case (.reliableEventually, .envelope), (.reliableEventually, .snapshot):
            return try sendReliably(item, to: receivers, now)
        case (.latestSnapshot, .snapshot(let snapshot)):
            try publish(snapshot, to: peerID == nil ? nil : receivers)
            return .accepted
        case (.latestSnapshot, _), (.reliableEventually, _):
            throw .unsupportedDeliveryMode
        case (.realtimeBestEffort, .envelope) where settings.keptLane != nil:
            return try sendKept(item, to: receivers, now)
        case (.realtimeBestEffort, _), (.snapshotRequest, _), (.acknowledgement, _):
            return try sendImmediately(item.message, to: receivers)
        }
    }

    /// Returns the peers that may get the message. A guest gets only messages of its sessions. A newest snapshot for a
    /// guest waits until a session admits it.
    private func receivers(
        _ peerID: String?, of message: WireMessage, _ mode: SessionDeliveryMode
    ) throws(SessionSyncError) -> [Int] {
        guard let peerID else { return peers.indices.filter { isVisible(message, to: $0) } }
        guard let index = peerIndex[peerID], mode == .latestSnapshot || isVisible(message, to: index) else {
            throw .unknownPeer(id: peerID)
        }
        return [index]
    }

    // MARK: Best effort

    /// Accepts best-effort messages for a single receiver, which is looked up only once. The result is as if `send`
    /// took each.
    /// - Returns: the number of accepted messages. 0 if the caller must use `send` for the first one, which may throw.
    mutating func sendTogether(_ items: ArraySlice<Item>, mode: SessionDeliveryMode, to peerID: String?) -> Int {
        guard mode == .realtimeBestEffort, items.count > 1, settings.keptLane == nil, !settings.returnsOwnPackets,
            let index = peerID.map({ peerIndex[$0] }) ?? (peers.count == 1 ? 0 : nil), !peers[index].isGuest,
            let address = immediateAddress(index), let place = connections.index(forKey: address)
        else { return 0 }
        var count = 0
        for item in items {
            guard case .envelope = item.message,
                connections.values[place].immediate.hasSpace(countMax: settings.immediateLimit)
            else { break }
            connections.values[place].immediate.append(item.message)
            count += 1
        }
        if count > 0, directives.writable.last != address { directives.writable.append(address) }
        return count
    }

    /// - Parameter keepsUnlessReachable: true to use a live lane only for peers that are known to answer.
    private mutating func sendImmediately(
        _ message: WireMessage, to receivers: [Int], keepsUnlessReachable: Bool = false
    ) throws(SessionSyncError) -> Admission {
        var hasReceiver = false
        var isAccepted = false
        var droppedCount = 0
        for index in receivers {
            guard let address = immediateAddress(index) else { continue }
            hasReceiver = true
            if keepsUnlessReachable, peers[index].standing.health != .reachable, let place = peers[index].keptAddress {
                guard connections[place]?.kept.immediate.hasSpace(countMax: settings.immediateLimit) == true else {
                    droppedCount += 1
                    continue
                }
                connections[place]?.kept.immediate.append(message)
                directives.writable.append(place)
                isAccepted = true
                continue
            }
            guard connections[address]?.immediate.hasSpace(countMax: settings.immediateLimit) == true else {
                droppedCount += 1
                continue
            }
            connections[address]?.immediate.append(message)
            if directives.writable.last != address { directives.writable.append(address) }
            isAccepted = true
        }
        guard hasReceiver else { throw .notReachable }
        guard isAccepted else { return .full }
        if droppedCount > 0 {
            report(
                .dropped(count: droppedCount, reason: "the queue of a slow peer is full; other peers get the message"))
        }
        return .accepted
    }

    /// Accepts a best-effort event over a link with kept lanes. Peers that have answered on a live lane get it there.
    /// Other peers with an address get it through the platform's queue. For peers without an address it waits here,
    /// like a reliable message.
    private mutating func sendKept(
        _ item: Item, to receivers: [Int], _ now: DeliveryTime
    ) throws(SessionSyncError) -> Admission {
        guard !receivers.isEmpty else {
            try keepPending(item, now)
            return .accepted
        }
        let placed = receivers.filter { immediateAddress($0) != nil }
        let others = receivers.filter {
            immediateAddress($0) == nil && (placed.isEmpty || hasSpace($0, item.byteCount))
        }
        // If the caller has to try again after this, receivers recognize the duplicate by the event's ID.
        if !others.isEmpty, case .full = try sendReliably(item, to: others, now) { return .full }
        if placed.count + others.count < receivers.count {
            report(
                .dropped(
                    count: 1, reason: "the queue of a peer that isn't connected is full; other peers get the event"))
        }
        return placed.isEmpty ? .accepted : try sendImmediately(item.message, to: placed, keepsUnlessReachable: true)
    }

    /// Returns the address for a best-effort message; nil if no lane reaches the peer now.
    private func immediateAddress(_ index: Int) -> LinkAddress? {
        if let address = peers[index].address, connections[address]?.isClosed == false {
            // Before the first round trip, no peer counts as gone.
            if peers[index].standing.health != .gone || peers[index].standing.isAwaited { return address }
        }
        return settings.keptLane == nil ? nil : peers[index].keptAddress
    }

    /// Puts a best-effort message that a live lane hasn't delivered in the queue of a kept lane.
    mutating func undelivered(_ message: WireMessage, at address: LinkAddress) {
        guard settings.keptLane != nil, connections[address]?.kept.peerID != nil else { return }
        switch message {
        case .envelope, .snapshot, .snapshotRequest: break
        case .hello, .goodbye, .report: return
        }
        guard connections[address]?.kept.immediate.hasSpace(countMax: settings.immediateLimit) == true else {
            return report(
                .dropped(count: 1, reason: "the live lane didn't deliver it, and the queue of the kept lane is full"))
        }
        connections[address]?.kept.immediate.append(message)
        directives.writable.append(address)
    }

    // MARK: Reliable

    private mutating func sendReliably(
        _ item: Item, to receivers: [Int], _ now: DeliveryTime
    ) throws(SessionSyncError) -> Admission {
        guard !receivers.isEmpty else {
            try keepPending(item, now)
            return .accepted
        }
        // Messages that the store refused when the first peer appeared go before this one.
        sendPending(now)
        for index in receivers where !hasSpace(index, item.byteCount) {
            dropExpired(index, now)
            guard !hasSpace(index, item.byteCount) else { continue }
            guard peers[index].address != nil, peers[index].standing.health != .gone else {
                throw .queueFull(limit: settings.queueLimit)
            }
            return .full
        }
        let featureID = item.message.metadata?.featureID ?? ""
        var places: [(peer: Int, channel: Int)] = []
        for index in receivers { places.append((index, try peers[index].channel(featureID))) }
        for place in places { enqueue(item, at: place, now) }
        return .accepted
    }

    private func hasSpace(_ index: Int, _ byteCount: Int) -> Bool {
        peers[index].outstandingCount < settings.queueLimit
            && (peers[index].outstandingCount == 0
                || peers[index].outstandingBytes + byteCount <= settings.queueBytesMax)
    }

    private mutating func enqueue(_ item: Item, at place: (peer: Int, channel: Int), _ now: DeliveryTime) {
        let index = place.peer
        var entry = OutgoingChannel.Entry(
            message: item.message, byteCount: item.byteCount, priority: item.options.priority,
            isPromised: item.isPromised)
        if let timeToLive = item.options.timeToLive?.nanoseconds {
            entry.deadline = now.elapsed &+ max(timeToLive, 1_000_000)
            entry.expiresAt = now.wall + max(timeToLive, 1_000_000) / 1_000_000
            peers[index].earliestDeadline = min(peers[index].earliestDeadline, entry.deadline)
            wake(by: entry.deadline)
        }
        let expiresAt = entry.expiresAt
        let number = peers[index].channels[place.channel].append(entry, isStored: !settings.isDurable)
        peers[index].outstandingCount += 1
        peers[index].outstandingBytes += item.byteCount
        if settings.isDurable {
            directives.changes.append(
                .accepted(
                    peerID: peers[index].peer.id, peers[index].channels[place.channel].key, number: number,
                    item.message,
                    expiresAt: expiresAt))
        } else {
            markWritable(index)
        }
    }

    /// Withdraws a message from the peers that haven't acknowledged it.
    /// - Returns: true if there was such a peer. The message may still arrive.
    mutating func cancel(_ id: MessageID) -> Bool {
        var isCancelled = pending.cancel(eventID: id.eventID, featureID: id.featureID)
        if isCancelled { notePending() }
        for index in peers.indices {
            let gone = withdraw(index, isForever: true) { $0.message.metadata.map(MessageID.init) == id }
            for entry in gone { report(.cancelled(entry.message.metadata, peerID: peers[index].peer.id)) }
            isCancelled = isCancelled || !gone.isEmpty
        }
        return isCancelled
    }

    func isWaiting(_ id: MessageID) -> Bool {
        pending.holds(eventID: id.eventID, featureID: id.featureID)
            || peers.contains { peer in
                peer.channels.contains { channel in
                    channel.key.featureID == id.featureID
                        && channel.isWaiting { $0.message.metadata.map(MessageID.init) == id }
                }
            }
    }

    // MARK: Pending messages

    private mutating func keepPending(_ item: Item, _ now: DeliveryTime) throws(SessionSyncError) {
        dropExpiredPending(now)
        let expiresAt = item.options.timeToLive.map { now.wall + max($0.nanoseconds / 1_000_000, 1) }
        switch item.message {
        case .envelope(let envelope):
            try pending.append(envelope, options: item.options, expiresAt: expiresAt)
        case .snapshot(let snapshot):
            try pending.append(snapshot, options: item.options, expiresAt: expiresAt)
        case .hello, .snapshotRequest, .goodbye, .report: throw .unsupportedDeliveryMode
        }
        notePending()
    }

    private mutating func dropExpiredPending(_ now: DeliveryTime) {
        for element in pending.removeExpired(now: now.wall) { report(.expired(element.metadata, peerID: nil)) }
    }

    private mutating func notePending() {
        if settings.isDurable { directives.changes.append(.pending(pending)) }
    }

    /// Sends each pending message to the first peer that may get it.
    mutating func sendPending(_ now: DeliveryTime) {
        guard !pending.isEmpty, !peers.isEmpty else { return }
        dropExpiredPending(now)
        let waiting = pending.takeAll()
        var sentCount = 0
        var left: [(element: PendingDeliveryQueue.Element, expiresAt: UInt64?)] = []
        var isStuck = false
        for (element, expiresAt) in waiting {
            guard !isStuck, let first = peers.indices.first(where: { isVisible(element.message, to: $0) }) else {
                left.append((element, expiresAt))
                continue
            }
            var options = element.options
            options.timeToLive = expiresAt.map { .milliseconds(Int64(clamping: $0 - min($0, now.wall))) }
            let item = Item(message: element.message, byteCount: 0, options: options, isPromised: true)
            guard case .accepted? = try? sendReliably(item, to: [first], now) else {
                isStuck = true
                left.append((element, expiresAt))
                continue
            }
            sentCount += 1
        }
        if isStuck { putBackPending(left, now) } else { pending.putBack(left) }
        guard sentCount > 0 || waiting.isEmpty else { return }
        notePending()
        report(.pendingFlushed(count: sentCount))
    }

    /// Puts messages back that neither a peer nor the store could take.
    mutating func putBackPending(
        _ elements: [(element: PendingDeliveryQueue.Element, expiresAt: UInt64?)], _ now: DeliveryTime
    ) {
        pending.putBack(elements)
        retryPending(now)
    }

    /// Schedules another try to send the pending messages, or to write them if there is still no peer.
    mutating func retryPending(_ now: DeliveryTime) {
        isPendingDue = true
        wake(by: now.elapsed + Self.storeInterval)
    }

    mutating func flushPendingIfDue(_ now: DeliveryTime) {
        guard isPendingDue else { return }
        isPendingDue = false
        if pending.isEmpty || peers.isEmpty { notePending() } else { sendPending(now) }
    }

    // MARK: Newest snapshots

    /// - Parameter receivers: nil publishes to all current and later peers.
    /// - Throws: `queueFull` if there are too many features.
    private mutating func publish(
        _ snapshot: AnySessionSyncSnapshot, to receivers: [Int]?
    ) throws(SessionSyncError) {
        let feature = snapshot.metadata.featureID
        if let receivers {
            for index in receivers {
                guard peers[index].latest[feature] != nil || peers[index].latest.count < settings.featureLimit else {
                    throw .queueFull(limit: settings.featureLimit)
                }
                if snapshot.isSuperseded(by: peers[index].latest[feature]?.own?.snapshot) { continue }
                let offer = nextOffer(snapshot)
                peers[index].offerLatest(feature) { $0.own = offer }
                markWritable(index)
            }
        } else {
            guard published[feature] != nil || published.count < settings.featureLimit else {
                throw .queueFull(limit: settings.featureLimit)
            }
            if snapshot.isSuperseded(by: published[feature]?.snapshot) { return }
            if published[feature] == nil { publishedOrder.append(feature) }
            let offer = nextOffer(snapshot)
            published[feature] = offer
            if settings.isDurable { directives.changes.append(.published(offer)) }
            for index in peers.indices {
                peers[index].hasLatestDue = true
                markWritable(index)
            }
        }
    }

    private mutating func nextOffer(_ snapshot: AnySessionSyncSnapshot) -> LatestOffer {
        lastVersion += 1
        return LatestOffer(version: lastVersion, snapshot: snapshot)
    }
}

extension PendingDeliveryQueue.Element {
    fileprivate var message: WireMessage {
        switch self {
        case .envelope(let envelope, _): .envelope(envelope)
        case .snapshot(let snapshot, _, _): .snapshot(snapshot)
        }
    }

    fileprivate var options: DeliveryOptions {
        switch self {
        case .envelope(_, let options), .snapshot(_, _, let options): options
        }
    }
}
