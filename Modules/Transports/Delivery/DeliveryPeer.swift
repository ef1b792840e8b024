import MeshBus
import MeshIdentity
import MeshTransport
import MeshWire

/// One peer, connected or not: what it is still to get, what has come of it, and how it is.
struct DeliveryPeer: Sendable {
    var peer: SessionPeer
    /// The link has let it in as a guest, when it was there last.
    var isGuest = false
    /// Messages of a guest that were of none of its sessions.
    var refusedCount = 0
    /// Where it greeted last, and can be sent to; nil while nowhere.
    var address: LinkAddress?
    /// Where platform-kept lanes reach it.
    var keptAddress: LinkAddress?
    var standing = PeerStanding()
    /// It said farewell when it was there last.
    var hasLeft = false

    // What it is to get.
    var channels: [OutgoingChannel] = []
    private var channelIndex: [String: Int] = [:]
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
    var incoming: [IncomingChannel.Key: IncomingChannel] = [:]
    var newest: [IncomingChannel.Key: UInt64] = [:]
    /// What each of them takes in the store.
    private var stored: [IncomingChannel.Key: Int] = [:]
    var budget = PeerBudget()
    /// Of the messages charged to it, those that wait for the store alone.
    private(set) var unstoredBytes = 0
    var recent = RecentMessages()
    /// Waits for room at the subscribers.
    var stalled: [IncomingChannel.Key] = []

    // What it is to be told.
    var receiptsDue: [IncomingChannel.Key] = []
    var latestReceiptsDue: [IncomingChannel.Key] = []
    var reportAt = UInt64.max
    var unreportedCount = 0
    var echo: WireReport.Echo?
    var probeDue: UInt32?

    init(_ peer: SessionPeer) { self.peer = peer }

    static let channelsMax = 1024

    /// - Throws: `queueFull` for one feature too many.
    mutating func channel(_ featureID: String) throws(SessionSyncError) -> Int {
        if let index = channelIndex[featureID] { return index }
        guard channels.count < Self.channelsMax else { throw .queueFull(limit: Self.channelsMax) }
        return add(OutgoingChannel(featureID: featureID))
    }

    mutating func add(_ channel: OutgoingChannel) -> Int {
        channels.append(channel)
        channelIndex[channel.featureID] = channels.count - 1
        return channels.count - 1
    }

    func existingChannel(_ featureID: String) -> Int? { channelIndex[featureID] }

    /// The channel whose turn it is among those with the highest priority; nil when nothing is ready. O(channels).
    mutating func nextChannel() -> (index: Int, number: UInt64, priority: DeliveryPriority)? {
        guard outstandingCount > 0 else { return nil }
        var best: (index: Int, number: UInt64, priority: DeliveryPriority)?
        for offset in 0..<channels.count {
            let index = (rotation + offset) % channels.count
            guard let (number, priority) = channels[index].next() else { continue }
            if best.map({ priority < $0.priority }) ?? true { best = (index, number, priority) }
        }
        if let best { rotation = (best.index + 1) % channels.count }
        return best
    }

    var underWayBytes: Int { channels.reduce(0) { $0 + $1.underWayBytes } }
    var hasUnderWay: Bool { channels.contains { $0.underWayCount > 0 } }

    mutating func markReceipt(_ key: IncomingChannel.Key, isLatest: Bool, at time: UInt64) {
        if isLatest {
            if !latestReceiptsDue.contains(key) { latestReceiptsDue.append(key) }
        } else if receiptsDue.last != key, !receiptsDue.contains(key) {
            receiptsDue.append(key)
        }
        reportAt = min(reportAt, time)
    }

    mutating func noteUnstored(_ bytes: Int) { unstoredBytes += bytes }

    mutating func noteStored(_ bytes: Int) { unstoredBytes = max(0, unstoredBytes - bytes) }

    /// Whether a newest snapshot may be kept in the store in the place of an earlier one.
    mutating func mayKeep(_ bytes: Int, of key: IncomingChannel.Key) -> Bool {
        let before = stored[key] ?? 0
        guard budget.hasRoom(for: bytes - before, as: .snapshots) else { return false }
        keep(bytes, of: key)
        return true
    }

    /// A newest snapshot is in the store.
    mutating func keep(_ bytes: Int, of key: IncomingChannel.Key) {
        budget.release(stored.updateValue(bytes, forKey: key) ?? 0, as: .snapshots)
        budget.charge(bytes, as: .snapshots)
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
