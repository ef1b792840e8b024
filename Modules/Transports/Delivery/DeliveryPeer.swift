import MeshBase
import MeshIdentity
import MeshTransport
import MeshWire

/// The state of one peer, connected or not: messages to send to it, messages received from it, and its health.
struct DeliveryPeer: Sendable {
    var peer: SessionPeer
    /// The ID under which this launch numbers its messages to the peer.
    let outbox: UInt32
    /// True if the link admitted the peer as a guest when it was last connected.
    var isGuest = false
    /// Number of messages from this guest that belonged to none of its sessions.
    var refusedCount = 0
    /// The address of its live connection; nil if there is none.
    var address: LinkAddress?
    /// The address at which platform-kept lanes reach it.
    var keptAddress: LinkAddress?
    var standing: PeerStanding
    /// The optional parts of the protocol that both sides offered in the peer's last hello.
    var abilities: WireAbilities = []
    /// The parts of the compression policy that the peer's last hello announces to read.
    var readableCompression: ReadableCompression = []
    var window = LossyWindow()
    /// True if the peer said goodbye when it was last connected.
    var hasLeft = false

    // Outgoing messages.
    /// Channels of earlier launches come first, the oldest launch of a feature before the next.
    var channels: [OutgoingChannel] = []
    private var channelIndex: [ChannelKey: Int] = [:]
    /// Number of channels of earlier launches.
    private(set) var earlierCount = 0
    /// The channel that is next in the rotation among channels of one priority.
    private var rotation = 0
    /// Number of messages that were accepted for the peer and aren't acknowledged yet.
    var outstandingCount = 0
    var outstandingBytes = 0
    var earliestDeadline = UInt64.max
    var latest: [String: LatestProgress] = [:]
    /// Features in `latest`, in the order in which they were added.
    var latestOrder: [String] = []
    /// True if a snapshot of `latest` may be due.
    var hasLatestDue = false

    // Incoming messages.
    var incoming: [ChannelKey: IncomingChannel] = [:]
    /// The peer's outboxes in `incoming`, in the order in which they were first heard.
    private(set) var outboxes: [UInt32] = []
    /// The newest snapshots received, by feature.
    var newest: [String: NewestSnapshot] = [:]
    var budget = PeerBudget()
    /// Bytes of received messages that wait only for the store. Part of `budget`.
    private(set) var unstoredBytes = 0
    var recent = RecentMessages()
    /// Channels that wait for space at the subscribers.
    var stalled: [ChannelKey] = []

    // Acknowledgements, probes and answers to send.
    var receiptsDue: [ChannelKey] = []
    var latestReceiptsDue: [ChannelKey] = []
    var reportAt = UInt64.max
    var unreportedCount = 0
    var echo: WireReport.Echo?
    var probeDue: UInt32?
    /// This side's knowledge of the identities in the peer's datagrams, to be reported.
    var identitiesDue: KnownIdentities?
    /// The peer's knowledge of the identities in this side's datagrams, as it last reported.
    var knownIdentities: KnownIdentities?

    init(_ peer: SessionPeer, outbox: UInt32, rules: SilenceRules) {
        self.peer = peer
        self.outbox = outbox
        standing = PeerStanding(rules)
    }

    static let channelsMax = 1024
    static let outboxesMax = 64

    /// Returns the index of this launch's channel for a feature, and creates the channel if needed.
    /// - Throws: `queueFull` if there are too many features.
    mutating func channel(_ featureID: String) throws(SessionSyncError) -> Int {
        let key = ChannelKey(outbox: outbox, featureID: featureID)
        if let index = channelIndex[key] { return index }
        guard channels.count - earlierCount < Self.channelsMax else { throw .queueFull(limit: Self.channelsMax) }
        return add(OutgoingChannel(key))
    }

    private mutating func add(_ channel: OutgoingChannel) -> Int {
        channels.append(channel)
        channelIndex[channel.key] = channels.count - 1
        return channels.count - 1
    }

    /// Adds a channel of an earlier launch. Must be called before this launch has any.
    mutating func restore(_ channel: OutgoingChannel) {
        _ = add(channel)
        earlierCount += 1
    }

    /// Removes the channels of earlier launches that have nothing left to send or report.
    mutating func dropEarlierChannels() {
        guard channels.prefix(earlierCount).contains(where: \.isFinished) else { return }
        let left = channels.prefix(earlierCount).filter { !$0.isFinished }
        channels.replaceSubrange(..<earlierCount, with: left)
        earlierCount = left.count
        channelIndex = Dictionary(uniqueKeysWithValues: channels.enumerated().map { ($1.key, $0) })
    }

    func existingChannel(_ key: ChannelKey) -> Int? { channelIndex[key] }

    /// Returns the oldest of a feature's channels that still holds a message, or else the newest.
    func oldestChannel(_ featureID: String) -> Int? {
        channels.firstIndex { $0.key.featureID == featureID && !$0.entries.isEmpty }
            ?? channels.lastIndex { $0.key.featureID == featureID }
    }

    /// Returns the next channel in the rotation among those with the highest priority; nil if nothing is ready.
    /// O(channels).
    ///
    /// Within a feature, an earlier launch's messages go first. On live lanes the next launch's messages wait until
    /// those are acknowledged, because messages in flight together may arrive in any order. Kept lanes preserve the
    /// order, and acknowledgements may take days there.
    mutating func nextChannel(on lane: LinkLane) -> (index: Int, number: UInt64, priority: DeliveryPriority)? {
        guard outstandingCount > 0 else { return nil }
        var best: (index: Int, number: UInt64, priority: DeliveryPriority)?
        var waiting: Set<String> = []
        let ownCount = channels.count - earlierCount
        for offset in 0..<channels.count {
            let isEarlier = offset < earlierCount
            let index = isEarlier ? offset : earlierCount + (rotation + offset - earlierCount) % ownCount
            guard !waiting.contains(channels[index].key.featureID) else { continue }
            let next = channels[index].next()
            if isEarlier, next != nil || (lane.isLive && !channels[index].entries.isEmpty) {
                waiting.insert(channels[index].key.featureID)
            }
            guard let (number, priority) = next else { continue }
            if best.map({ priority < $0.priority }) ?? true { best = (index, number, priority) }
        }
        if let best, best.index >= earlierCount { rotation = best.index + 1 - earlierCount }
        return best
    }

    var inFlightBytes: Int { channels.reduce(0) { $0 + $1.inFlightBytes } }
    /// Nanoseconds without an acknowledgement after which a packet on a lossy lane counts as lost.
    var resendTimeout: UInt64 { standing.roundTrip.timeout(afterFailures: window.timeoutCount) }
    var hasInFlight: Bool { channels.contains { $0.inFlightCount > 0 } }

    mutating func markReceipt(_ key: ChannelKey, isLatest: Bool, at time: UInt64) {
        if isLatest {
            if !latestReceiptsDue.contains(key) { latestReceiptsDue.append(key) }
        } else if receiptsDue.last != key, !receiptsDue.contains(key) {
            receiptsDue.append(key)
        }
        reportAt = min(reportAt, time)
    }

    mutating func noteUnstored(_ bytes: Int) { unstoredBytes += bytes }

    mutating func noteStored(_ bytes: Int) { unstoredBytes = max(0, unstoredBytes - bytes) }

    mutating func noteNewest(_ mark: WireMark, of featureID: String) {
        var snapshot = newest[featureID] ?? NewestSnapshot(outbox: mark.outbox, version: mark.sequence)
        (snapshot.outbox, snapshot.version) = (mark.outbox, mark.sequence)
        newest[featureID] = snapshot
    }

    /// Returns true if the store's budget has space for a newest snapshot in place of the feature's earlier one.
    func mayKeep(_ snapshot: AnySessionSyncSnapshot) -> Bool {
        let before = newest[snapshot.metadata.featureID]?.storedBytes ?? 0
        return budget.hasSpace(for: WireMessage.snapshot(snapshot).heldBytes - before, as: .snapshots)
    }

    /// Records that a newest snapshot goes to the store, in place of the feature's earlier one.
    mutating func keep(_ snapshot: AnySessionSyncSnapshot) {
        let (feature, bytes) = (snapshot.metadata.featureID, WireMessage.snapshot(snapshot).heldBytes)
        budget.release(newest[feature]?.storedBytes ?? 0, as: .snapshots)
        budget.charge(bytes, as: .snapshots)
        newest[feature]?.storedBytes = bytes
        newest[feature]?.stored = snapshot.withoutState
    }

    /// Opens a channel unless it exists. At the limit, it forgets the outbox that was heard first. It never forgets the
    /// new channel's outbox, nor an outbox with unacknowledged messages: the peer would send these again, and they
    /// would count as new.
    /// - Returns: the forgotten outboxes; nil if there are too many features.
    mutating func open(_ key: ChannelKey, first: UInt64) -> [UInt32]? {
        guard incoming[key] == nil else { return [] }
        var forgotten: [UInt32] = []
        let isNew = !outboxes.contains(key.outbox)
        while incoming.count >= Self.channelsMax || (isNew && outboxes.count >= Self.outboxesMax),
            let oldest = outboxes.first(where: { $0 != key.outbox && isAcknowledged($0) })
        {
            forget(oldest)
            forgotten.append(oldest)
        }
        guard incoming.count < Self.channelsMax else { return nil }
        restore(IncomingChannel(first: first), as: key)
        return forgotten
    }

    mutating func restore(_ channel: IncomingChannel, as key: ChannelKey) {
        incoming[key] = channel
        if !outboxes.contains(key.outbox) { outboxes.append(key.outbox) }
    }

    /// Returns true if messages of the feature from another outbox are stalled.
    func isPreceded(_ key: ChannelKey) -> Bool {
        stalled.contains { $0.featureID == key.featureID && $0.outbox != key.outbox }
    }

    private func isAcknowledged(_ outbox: UInt32) -> Bool {
        !receiptsDue.contains { $0.outbox == outbox }
            && !incoming.contains { $0.key.outbox == outbox && $0.value.awaitsStore }
    }

    private mutating func forget(_ outbox: UInt32) {
        outboxes.removeAll { $0 == outbox }
        stalled.removeAll { $0.outbox == outbox }
        for key in Array(incoming.keys) where key.outbox == outbox {
            budget.release(incoming.removeValue(forKey: key)?.heldBytes ?? 0, as: .messages)
        }
    }

    /// Returns true if there is space to hold a numbered message. If needed, it first drops the early messages of the
    /// peer's other outboxes: the peer may have lost the messages that they wait for.
    mutating func mayHold(_ bytes: Int, from outbox: UInt32) -> Bool {
        if budget.hasSpace(for: bytes, as: .messages) { return true }
        for key in Array(incoming.keys) where key.outbox != outbox {
            budget.release(incoming[key]?.forgetHeld() ?? 0, as: .messages)
        }
        return budget.hasSpace(for: bytes, as: .messages)
    }

    /// Marks all newest snapshots as not acknowledged: the peer has relaunched and may have lost them.
    mutating func forgetAcknowledgedSnapshots() {
        for feature in latestOrder { latest[feature]?.acknowledged = 0 }
    }

    mutating func offerLatest(_ featureID: String, _ change: (inout LatestProgress) -> Void) {
        if latest[featureID] == nil { latestOrder.append(featureID) }
        change(&latest[featureID, default: LatestProgress()])
        hasLatestDue = true
    }
}

/// The state of one address: whether it is live, the peer that greeted there, and messages for it regardless of the
/// peer.
struct DeliveryConnection: Sendable {
    var isLive = false
    /// The peer ID that the link has proven on the live connection.
    var provenID: String?
    /// True if the peer is admitted only as a guest.
    var isGuest = false
    /// The ID of the peer that greeted.
    var peerID: String?
    /// This side's number of the connection.
    var number: UInt64 = 0
    /// The other side's number, from its last hello; 0 if it sends none.
    var peerConnectionNumber: UInt64 = 0
    /// The time to repeat the hello on a lossy lane, until the other side reports.
    var nextHelloAt: UInt64?
    var helloCount = 0
    var helloSentAt: UInt64 = 0
    /// Hellos and goodbyes. They go before everything else.
    var control = FirstInFirstOut<WireMessage>()
    /// Unnumbered messages, which arrive now or never.
    var immediate = WaitingMessages()
    /// True after a goodbye was sent or received: nothing more is sent or accepted.
    var isClosed = false
    /// The state of the platform-kept lanes. It outlives live connections.
    var kept = KeptConnection()
    /// The peer ID that the link has proven on any lane.
    var provenPeerID: String? { provenID ?? kept.provenID }
}

/// The state of an address on platform-kept lanes.
struct KeptConnection: Sendable {
    /// The peer ID that the link has proven.
    var provenID: String?
    /// The ID of the peer that greeted last, on any lane.
    var peerID: String?
    /// Number of hellos sent on the lane `queue`. Each launch of the other side sends one and expects one.
    var sentHelloCount = 0
    var receivedHelloCount = 0
    /// The number of the launch that greeted last; 0 if the peer doesn't number launches.
    var peerLaunchNumber: UInt64 = 0
    /// True if the hello must also be put on the lane `latest`, from which a relaunched peer learns this peer's ID at
    /// once.
    var needsHello = false
    /// Best-effort messages that no live lane has delivered.
    var immediate = WaitingMessages()

    /// The key of the hello on the lane `latest`.
    static let helloKey = "!sessionmesh.greeting"
}
