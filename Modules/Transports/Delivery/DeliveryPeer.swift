import MeshBase
import MeshIdentity
import MeshTransport
import MeshWire

/// One peer, connected or not: what it is still to get, what has come of it, and how it is.
struct DeliveryPeer: Sendable {
    var peer: SessionPeer
    /// Numbers what this launch accepts for it.
    let outbox: UInt32
    /// The link has let it in as a guest, when it was there last.
    var isGuest = false
    /// Messages of a guest that were of none of its sessions.
    var refusedCount = 0
    /// Where it greeted last, and can be sent to; nil while nowhere.
    var address: LinkAddress?
    /// Where platform-kept lanes reach it.
    var keptAddress: LinkAddress?
    var standing: PeerStanding
    /// The optional parts of the protocol that both sides offered when it greeted last.
    var abilities: WireAbilities = []
    var window = LossyWindow()
    /// It said farewell when it was there last.
    var hasLeft = false

    // What it is to get.
    /// What earlier launches accepted comes first; of each feature, the oldest launch.
    var channels: [OutgoingChannel] = []
    private var channelIndex: [ChannelKey: Int] = [:]
    /// The channels of earlier launches.
    private(set) var earlierCount = 0
    /// Where the turn is among channels of one priority.
    private var rotation = 0
    /// Accepted for it and not acknowledged.
    var outstandingCount = 0
    var outstandingBytes = 0
    var earliestDeadline = UInt64.max
    var latest: [String: LatestProgress] = [:]
    /// Features in `latest`, in the order in which they came.
    var latestOrder: [String] = []
    /// Something of `latest` may be due.
    var hasLatestDue = false

    // What has come of it.
    var incoming: [ChannelKey: IncomingChannel] = [:]
    /// The peer's outboxes in `incoming`, in the order in which they were first heard.
    private(set) var outboxes: [UInt32] = []
    /// By feature.
    var newest: [String: NewestHeard] = [:]
    var budget = PeerBudget()
    /// Of the messages charged to it, those that wait for the store alone.
    private(set) var unstoredBytes = 0
    var recent = RecentMessages()
    /// Waits for room at the subscribers.
    var stalled: [ChannelKey] = []

    // What it is to be told.
    var receiptsDue: [ChannelKey] = []
    var latestReceiptsDue: [ChannelKey] = []
    var reportAt = UInt64.max
    var unreportedCount = 0
    var echo: WireReport.Echo?
    var probeDue: UInt32?
    /// Of the identities in its datagrams; and what it has said of those in this side's.
    var identitiesDue: KnownIdentities?
    var knownIdentities: KnownIdentities?

    init(_ peer: SessionPeer, outbox: UInt32, rules: SilenceRules) {
        self.peer = peer
        self.outbox = outbox
        standing = PeerStanding(rules)
    }

    static let channelsMax = 1024
    static let outboxesMax = 64

    /// The channel of a feature in the outbox of this launch.
    /// - Throws: `queueFull` for one feature too many.
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

    /// Takes a channel of an earlier launch. Called before this launch has any.
    mutating func restore(_ channel: OutgoingChannel) {
        _ = add(channel)
        earlierCount += 1
    }

    /// Forgets the channels of earlier launches of which nothing is left.
    mutating func dropEarlierChannels() {
        guard channels.prefix(earlierCount).contains(where: \.isOver) else { return }
        let left = channels.prefix(earlierCount).filter { !$0.isOver }
        channels.replaceSubrange(..<earlierCount, with: left)
        earlierCount = left.count
        channelIndex = Dictionary(uniqueKeysWithValues: channels.enumerated().map { ($1.key, $0) })
    }

    func existingChannel(_ key: ChannelKey) -> Int? { channelIndex[key] }

    /// The oldest of a feature's channels that still holds something, else the newest.
    func oldestChannel(_ featureID: String) -> Int? {
        channels.firstIndex { $0.key.featureID == featureID && !$0.entries.isEmpty }
            ?? channels.lastIndex { $0.key.featureID == featureID }
    }

    /// The channel whose turn it is among those with the highest priority; nil when nothing is ready. O(channels).
    ///
    /// Of one feature an earlier launch's messages go first. On live lanes the next launch's wait until those are acknowledged:
    /// what is sent together may arrive in any order. Kept lanes keep the order, and acknowledgements may take days.
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

    var underWayBytes: Int { channels.reduce(0) { $0 + $1.underWayBytes } }
    /// Nanoseconds after which what a lossy lane has not brought is lost.
    var resendTimeout: UInt64 { standing.roundTrip.timeout(afterFailures: window.overdueCount) }
    var hasUnderWay: Bool { channels.contains { $0.underWayCount > 0 } }

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

    mutating func hear(_ mark: WireMark, of featureID: String) {
        var heard = newest[featureID] ?? NewestHeard(outbox: mark.outbox, version: mark.sequence)
        (heard.outbox, heard.version) = (mark.outbox, mark.sequence)
        newest[featureID] = heard
    }

    /// Whether there is room for a newest snapshot in the store, in the place of the feature's earlier one.
    func mayKeep(_ snapshot: AnySessionSyncSnapshot) -> Bool {
        let before = newest[snapshot.metadata.featureID]?.storedBytes ?? 0
        return budget.hasRoom(for: WireMessage.snapshot(snapshot).heldBytes - before, as: .snapshots)
    }

    /// A newest snapshot is in the store.
    mutating func keep(_ snapshot: AnySessionSyncSnapshot) {
        let (feature, bytes) = (snapshot.metadata.featureID, WireMessage.snapshot(snapshot).heldBytes)
        budget.release(newest[feature]?.storedBytes ?? 0, as: .snapshots)
        budget.charge(bytes, as: .snapshots)
        newest[feature]?.storedBytes = bytes
        newest[feature]?.stored = snapshot.withoutState
    }

    /// Opens the channel if it is new. Where there are too many, the outbox that was heard first is forgotten, never the one
    /// that speaks nor one with something unacknowledged: that would come again and be taken for new.
    /// - Returns: the outboxes that were forgotten; nil for one feature too many.
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

    /// Something of the feature waits, from another outbox.
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

    /// Whether a numbered message may wait. What came before its turn of an outbox that the peer has lost goes first.
    mutating func mayHold(_ bytes: Int, from outbox: UInt32) -> Bool {
        if budget.hasRoom(for: bytes, as: .messages) { return true }
        for key in Array(incoming.keys) where key.outbox != outbox {
            budget.release(incoming[key]?.forgetHeld() ?? 0, as: .messages)
        }
        return budget.hasRoom(for: bytes, as: .messages)
    }

    /// It has begun anew, and may have kept none of them.
    mutating func forgetAcknowledgedSnapshots() {
        for feature in latestOrder { latest[feature]?.acknowledged = 0 }
    }

    mutating func offerLatest(_ featureID: String, _ change: (inout LatestProgress) -> Void) {
        if latest[featureID] == nil { latestOrder.append(featureID) }
        change(&latest[featureID, default: LatestProgress()])
        hasLatestDue = true
    }
}

/// One address: whether it is live, who greeted there, and what is to be sent whoever it is.
struct DeliveryConnection: Sendable {
    var isLive = false
    /// Whom the link has proven to be there.
    var provenID: String?
    /// It is there as a guest only.
    var isGuest = false
    /// Who greeted.
    var peerID: String?
    /// The own number of this connection.
    var number: UInt64 = 0
    /// The other side's, as it greeted last; 0 when it does not say.
    var theirNumber: UInt64 = 0
    /// The greeting is repeated on lossy lanes until the other side reports.
    var helloAt: UInt64?
    var helloCount = 0
    var helloSentAt: UInt64 = 0
    /// Goes before everything else.
    var control = FirstInFirstOut<WireMessage>()
    /// Without marks: now or never.
    var immediate = WaitingMessages()
    /// A farewell has been said or heard: nothing more is sent or taken.
    var isOver = false
    /// Of lanes that the platform keeps; ends with no connection.
    var kept = KeptConnection()
    /// Whom the link has proven to be there, on whatever lane.
    var provenPeerID: String? { provenID ?? kept.provenID }
}

/// What an address is on lanes that the platform keeps.
struct KeptConnection: Sendable {
    /// Whom the link has proven to be there.
    var provenID: String?
    /// Who greeted there last, on whatever lane.
    var peerID: String?
    /// Greetings on the lane `queue`: each launch of the other side brings one, and is owed one.
    var saidCount = 0
    var heardCount = 0
    /// The number of the launch that greeted last; 0 of one that doesn't number them.
    var theirLaunch: UInt64 = 0
    /// The lane `latest` is to hold the greeting too, so that the other side knows at its launch who is here.
    var owesGreeting = false
    /// Now or never, and a live lane has not delivered it.
    var immediate = WaitingMessages()

    /// Where the greeting is on the lane `latest`.
    static let greetingKey = "!sessionmesh.greeting"
}
