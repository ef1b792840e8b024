import MeshBase
import MeshIdentity
import MeshTransport
import MeshWire

// Terms. A *frame* is one message on the wire. A *lane* is one of a link's ways to send. *Live* lanes reach a connected
// peer; on *kept* lanes (such as `queue`) the platform stores packets until the peer takes them. A *channel* is one
// feature's numbered messages from one *outbox*. An outbox is a random ID that each launch generates, so numbers of two
// launches never mix. A *mark* carries outbox and number. A *report* carries receipts (cumulative and selective
// acknowledgements), probes, their echoes, and *floors* (the lowest number that a sender still offers).
//
// Losses on a lossy lane are found by later messages that arrived first (RACK, RFC 8985, with half a round trip for
// reordering) and by time (RFC 6298). `LossyWindow` bounds the bytes in flight. The rules are in
// Docs/Internals/Delivery.md.

/// The delivery protocol as a value. Its inputs are the callers' messages, the link's events and arriving frames, each
/// with a time. Its outputs are frames for an address and directives for the driver. It does no I/O, reads no clock and
/// handles no encoded bytes. Its driver does (`LinkTransport`, or a test in virtual time).
///
/// - The peer at an address is the one that sends a hello there. Reliable messages are numbered per peer and feature.
///   They are offered until the peer has acknowledged them, over as many connections as that takes.
/// - Newest snapshots are offered by version, until the peer has acknowledged the newest.
/// - Silent peers are probed. See `PeerStanding`.
struct DeliveryCore: Sendable {
    /// The configuration in the core's units, with the properties of the link that the core needs.
    struct Settings {
        let lanes: Set<LinkLane>
        var returnsOwnPackets = false
        let codec: UInt8
        let codecs: [UInt8]
        var queueLimit: Int
        var queueBytesMax: Int
        let featureLimit: Int
        let pendingLimit: Int
        let immediateLimit = 4096
        let abilities: WireAbilities
        /// The hello announces its formats and dictionaries.
        let compression: CompressionPolicy
        /// `DeliveryConfiguration.heartbeat` in nanoseconds. The durations below are in nanoseconds too.
        let heartbeat: UInt64
        /// The longest time without an exchange before an idle peer is probed.
        var idleInterval: UInt64 = 20_000_000_000
        let acknowledgementDelay: UInt64
        let stallPatience: UInt64
        /// The number of the first connection. Later connections count up from it.
        var firstConnection: UInt64 = 1
        /// True if there is a store: messages take effect only once they are stored.
        var isDurable = false

        /// - Parameter codecs: the numbers of the codecs that this side can read.
        init(
            _ configuration: DeliveryConfiguration = .init(), lanes: Set<LinkLane>, codec: UInt8, codecs: [UInt8]
        ) {
            self.lanes = lanes
            self.codec = codec
            self.codecs = codecs
            queueLimit = configuration.queueLimit
            queueBytesMax = min(configuration.queueBytesMax, DeliveryConfiguration.queueBytesLimit)
            featureLimit = configuration.featureLimit
            pendingLimit = configuration.pendingLimit
            abilities = configuration.abilities
            compression = configuration.compression
            heartbeat = configuration.heartbeat.nanoseconds
            acknowledgementDelay = configuration.acknowledgementDelay.nanoseconds
            stallPatience = configuration.stallPatience.nanoseconds
        }

        func hello(of peer: SessionPeer) -> WireHello {
            var hello = WireHello(peer: peer, codecs: codecs, dictionaries: compression.dictionaries.map(\.id))
            hello.abilities = abilities
            hello.compressionFormats = compression.formats.map(\.number)
            return hello
        }

        /// The live lane for reliable frames.
        var reliableLane: LinkLane? { lanes.contains(.stream) ? .stream : lanes.contains(.datagram) ? .datagram : nil }
        /// The live lane for best-effort frames.
        var immediateLane: LinkLane? { lanes.contains(.datagram) ? .datagram : lanes.contains(.stream) ? .stream : nil }
        var keptLane: LinkLane? { lanes.contains(.queue) ? .queue : nil }
        /// The kept lane for newest snapshots: `latest`, or the queue of a link without live lanes. nil if live lanes
        /// carry them.
        var latestLane: LinkLane? {
            lanes.contains(.latest) ? .latest : reliableLane == nil ? keptLane : nil
        }
        var isLossy: Bool { reliableLane == .datagram }

        /// Returns the rules for a peer's silence.
        /// - Parameter probesSecond: true if the peer has the lower ID, so it probes first.
        func silenceRules(_ agreed: WireAbilities, probesSecond: Bool) -> SilenceRules {
            guard agreed.contains(.announcedSilence) else { return .unannounced(heartbeat: heartbeat) }
            return .announced(
                idleInterval: idleInterval, heartbeat: heartbeat, probesSecond: probesSecond,
                probesMax: keptLane == nil ? 5 : 3)
        }
    }

    let localPeer: SessionPeer
    let settings: Settings
    /// The ID under which this launch numbers its messages. It differs between launches: a restored older store must
    /// not use a number twice.
    let outbox: UInt32
    var peers: [DeliveryPeer] = []
    var peerIndex: [String: Int] = [:]
    var connections: [LinkAddress: DeliveryConnection] = [:]
    var guests = Guests()
    var urgent = UrgentMessages()
    var pending: PendingDeliveryQueue
    /// True if pending messages must be sent, or written, again.
    var isPendingDue = false
    var published: [String: LatestOffer] = [:]
    /// Features in `published`, in the order in which they were added.
    var publishedOrder: [String] = []
    var lastVersion: UInt64 = 0
    /// Number of forgotten peers. A peer that returns gets another outbox, because it may remember the numbers of the
    /// earlier one.
    var forgottenCount: UInt32 = 0
    /// True once `storeWentBack` was reported.
    private var hasReportedOlderStore = false
    /// Number of connections that have begun.
    private var connectionCount: UInt64 = 0
    var directives = DeliveryDirectives()
    /// The earliest time at which something may be due.
    var deadline = UInt64.max
    /// Number of durable elements that the subscribers can take now. The driver sets it before each call.
    var availableCount = Int.max
    /// Payload bytes that the subscribers can take; the last element may exceed it. Set together with `availableCount`.
    var availableBytes = Int.max
    /// Received messages of all peers that wait for the store before they are passed on.
    private var unstored = (count: 0, bytes: 0)
    /// True if there is a subscriber for acknowledgements. The driver sets it, like `availableCount`.
    var reportsAcknowledgements = false
    /// The time since which messages wait for space; nil while none do.
    var stalledSince: UInt64?

    init(localPeer: SessionPeer, settings: Settings, outbox: UInt32) {
        self.localPeer = localPeer
        self.settings = settings
        self.outbox = outbox
        pending = PendingDeliveryQueue(envelopeLimit: settings.pendingLimit, featureLimit: settings.featureLimit)
    }

    mutating func takeDirectives() -> DeliveryDirectives {
        defer { directives = DeliveryDirectives() }
        return directives
    }

    /// The peers met so far, without the local one and without former guests.
    var knownPeers: [SessionPeer] {
        peers.compactMap { peer in
            let id = peer.peer.id
            return id == localPeer.id || (peer.isGuest && !guests.contains(id)) ? nil : peer.peer
        }
    }

    func health(of peerID: String) -> (health: DeliveryHealth, roundTrip: RoundTripEstimate)? {
        peerIndex[peerID].map { (peers[$0].standing.health, peers[$0].standing.roundTrip) }
    }

    /// Returns a number that differs for each connection and is never 0.
    mutating func nextConnectionNumber() -> UInt64 {
        defer { connectionCount &+= 1 }
        return max(settings.firstConnection &+ connectionCount, 1)
    }

    /// True if the subscribers can take another element. Messages that wait for the store have their space reserved.
    var hasSubscriberCapacity: Bool { availableCount > unstored.count && availableBytes > unstored.bytes }

    mutating func wake(by time: UInt64) { deadline = min(deadline, time) }

    mutating func noteUnstored(_ message: WireMessage) {
        unstored = (unstored.count + 1, unstored.bytes + message.payloadBytes)
    }

    mutating func noteStored(_ message: WireMessage) {
        unstored = (unstored.count - 1, unstored.bytes - message.payloadBytes)
    }

    var awaitsStore: Bool { unstored.count > 0 }

    /// Reports, once, that the store is an older copy: a peer has messages that this store doesn't remember sending.
    mutating func reportOlderStore(_ peerID: String) {
        if !hasReportedOlderStore { report(.storeWentBack(peerID: peerID)) }
        hasReportedOlderStore = true
    }

    mutating func report(_ event: SessionDiagnosticEvent) { directives.diagnostics.append(event) }
}

// MARK: - Time

extension DeliveryCore {
    /// Does the work that is due and sets the next deadline. O(peers and their channels).
    mutating func tick(_ now: DeliveryTime) {
        deadline = .max
        repeatHellos(now)
        for index in peers.indices {
            dropExpired(index, now)
            probe(index, now)
            resendOverdue(index, now)
            reofferLatest(index, now)
            if !peers[index].stalled.isEmpty { passOnStalled(index, now) }
            if peers[index].reportAt <= now.elapsed { markWritable(index) } else { wake(by: peers[index].reportAt) }
        }
        checkStalled(now)
        flushPendingIfDue(now)
    }

    /// Tries stalled messages again every 100 ms, even if no subscriber reports space. After `stallPatience` it
    /// abandons the full subscribers.
    private mutating func checkStalled(_ now: DeliveryTime) {
        guard peers.contains(where: { !$0.stalled.isEmpty }), let since = stalledSince else {
            stalledSince = nil
            return
        }
        if now.elapsed >= since + settings.stallPatience {
            directives.abandonsFull = true
            stalledSince = now.elapsed
        }
        wake(by: now.elapsed + Self.stallInterval)
    }

    static var stallInterval: UInt64 { 100_000_000 }

    private mutating func probe(_ index: Int, _ now: DeliveryTime) {
        guard let address = peers[index].address, connections[address]?.isClosed == false else { return }
        let before = peers[index].standing.health
        let wasUnreachableLive = isUnreachableLive(index)
        if let number = peers[index].standing.probe(now: now.elapsed) {
            peers[index].probeDue = number
            directives.writable.append(address)
        }
        // Messages sent on live lanes now go by kept lanes.
        if !wasUnreachableLive, isUnreachableLive(index) { rewind(index) }
        noteHealth(index, before)
        wake(by: peers[index].standing.deadline)
    }

    /// Reports a change of a peer's health.
    mutating func noteHealth(_ index: Int, _ before: DeliveryHealth) {
        let health = peers[index].standing.health
        guard health != before else { return }
        let peer = peers[index].peer
        report(.healthChanged(peerID: peer.id, from: before, to: health))
        let wasReachable = before != .gone
        let isReachable = health != .gone
        guard wasReachable != isReachable else { return }
        if isReachable { peers[index].hasLeft = false }
        if peer.id != localPeer.id {
            let connection = peers[index].address.flatMap { connections[$0]?.number }
            directives.arrivals.append(
                .reachability(
                    SessionPeerReachability(
                        isReachable, peer: peer, hasLeft: peers[index].hasLeft, connection: connection)))
            report(.reachabilityChanged(peerID: peer.id, isReachable: isReachable))
        }
        // Sends that wait for the peer try again, and then throw.
        if !isReachable { directives.resumesWaiters = true }
    }

    /// Returns the time to offer a feature's newest snapshot again unless it is acknowledged before. nil if the peer
    /// doesn't answer, or if the lane loses nothing.
    ///
    /// A lane that keeps the newest value is slower than a round trip, and a new value replaces the waiting one. There
    /// the first wait is 5 s, and each next one doubles, up to the idle interval.
    func reofferTime(of progress: LatestProgress, _ index: Int) -> UInt64? {
        guard peers[index].address != nil, !isUnreachableLive(index) else { return nil }
        let timeout = peers[index].resendTimeout
        guard latestLane(index) != nil else { return settings.isLossy ? progress.sentAt + timeout : nil }
        let wait = Self.latestPatience << UInt64(min(max(progress.attempts, 1), 10) - 1)
        return progress.sentAt + max(min(wait, max(settings.idleInterval, Self.latestPatience)), timeout)
    }

    private static var latestPatience: UInt64 { 5_000_000_000 }

    /// Returns the lane for newest snapshots. Guests have live lanes only.
    func latestLane(_ index: Int) -> LinkLane? { peers[index].isGuest ? nil : settings.latestLane }

    private mutating func reofferLatest(_ index: Int, _ now: DeliveryTime) {
        for (_, progress) in peers[index].latest where progress.sent > progress.acknowledged {
            guard let due = reofferTime(of: progress, index) else { return }
            if due <= now.elapsed { peers[index].hasLatestDue = true } else { wake(by: due) }
        }
        if peers[index].hasLatestDue { markWritable(index) }
    }

    /// Resends messages that a lossy lane hasn't delivered within the timeout.
    private mutating func resendOverdue(_ index: Int, _ now: DeliveryTime) {
        guard settings.isLossy, let address = peers[index].address, !isUnreachableLive(index) else { return }
        let timeout = peers[index].resendTimeout
        guard now.elapsed >= timeout else { return wake(by: timeout) }
        var count = 0
        for channel in peers[index].channels.indices where peers[index].channels[channel].inFlightCount > 0 {
            count += peers[index].channels[channel].markLost(sentBefore: now.elapsed - timeout, coveredOnly: false)
        }
        if count > 0 {
            peers[index].window.noteTimeout()
            if let number = peers[index].standing.measure(now: now.elapsed) { peers[index].probeDue = number }
            report(.retransmitted(count: count, peerID: peers[index].peer.id))
        }
        let needsFloor = peers[index].channels.contains { $0.needsFloor }
        if count > 0 || needsFloor { directives.writable.append(address) }
        if peers[index].hasInFlight || needsFloor { wake(by: now.elapsed + timeout / 2) }
    }

    mutating func dropExpired(_ index: Int, _ now: DeliveryTime) {
        guard peers[index].earliestDeadline != .max else { return }
        guard peers[index].earliestDeadline <= now.elapsed else { return wake(by: peers[index].earliestDeadline) }
        for entry in withdraw(index, where: { $0.deadline <= now.elapsed }) {
            report(.expired(entry.message.metadata, peerID: peers[index].peer.id))
        }
        var earliest = UInt64.max
        for channel in peers[index].channels {
            for number in channel.entries.first..<channel.entries.next where channel.states[number].progress != .void {
                earliest = min(earliest, channel.entries[number].deadline)
            }
        }
        peers[index].earliestDeadline = earliest
        if earliest != .max { wake(by: earliest) }
    }

    /// Voids unwanted entries, and makes sure that the peer doesn't wait for them.
    /// - Parameter isForever: true to record in the store that a later launch mustn't send them either. The store has the
    ///   time of expiry already.
    mutating func withdraw(
        _ index: Int, isForever: Bool = false, where isUnwanted: (OutgoingChannel.Entry) -> Bool
    ) -> [OutgoingChannel.Entry] {
        var gone: [OutgoingChannel.Entry] = []
        for channel in peers[index].channels.indices {
            let voided = peers[index].channels[channel].void(where: isUnwanted)
            guard !voided.isEmpty else { continue }
            gone += voided.map(\.entry)
            if isForever { noteCancelled(voided.map(\.number), index, channel) }
            noteTruncation(index, channel)
        }
        guard !gone.isEmpty else { return [] }
        peers[index].outstandingCount -= gone.count
        peers[index].outstandingBytes -= gone.reduce(0) { $0 + $1.byteCount }
        directives.resumesWaiters = true
        markWritable(index)
        return gone
    }

    /// Records the cancelled messages that the store can't drop yet.
    private mutating func noteCancelled(_ numbers: [UInt64], _ index: Int, _ channel: Int) {
        let first = peers[index].earlierCount > 0 ? 0 : peers[index].channels[channel].entries.first
        let left = numbers.filter { $0 >= first }
        guard settings.isDurable, !left.isEmpty else { return }
        directives.changes.append(
            .cancelled(peerID: peers[index].peer.id, peers[index].channels[channel].key, numbers: left))
    }

    /// Lets the store drop the messages that the channel no longer offers. The store has one journal per peer and
    /// feature for all launches. So it can drop only what precedes the oldest channel that still holds a message.
    mutating func noteTruncation(_ index: Int, _ channel: Int) {
        guard settings.isDurable else { return }
        let hasEarlier = peers[index].earlierCount > 0
        let oldest = hasEarlier ? peers[index].oldestChannel(peers[index].channels[channel].key.featureID) : channel
        let channel = peers[index].channels[oldest ?? channel]
        directives.changes.append(
            .truncated(peerID: peers[index].peer.id, channel.key, first: channel.entries.first))
    }

    mutating func markWritable(_ index: Int) {
        guard let address = peers[index].address ?? peers[index].keptAddress else { return }
        if directives.writable.last != address { directives.writable.append(address) }
    }
}

extension WireMessage {
    /// The kind of the message and the peer that it names as its sender; nil if it names none. A hello is checked in
    /// `receiveHello`.
    var sender: (what: String, id: String)? {
        switch self {
        case .envelope(let envelope): ("an event", envelope.metadata.sourcePeerID)
        case .snapshot(let snapshot): ("a snapshot", snapshot.metadata.sourcePeerID)
        case .snapshotRequest(let request): request.requester.map { ("a request", $0.id) }
        case .hello, .goodbye, .report: nil
        }
    }

    var metadata: SessionSyncMetadata? {
        switch self {
        case .envelope(let envelope): envelope.metadata
        case .snapshot(let snapshot): snapshot.metadata
        case .hello, .snapshotRequest, .goodbye, .report: nil
        }
    }
}

extension WireFrame {
    /// The mode in which the message was sent. A best-effort envelope doesn't show whether it is an acknowledgement.
    var mode: SessionDeliveryMode {
        switch message {
        case .envelope: mark == nil ? .realtimeBestEffort : .reliableEventually
        case .snapshot: mark == nil ? .realtimeBestEffort : .latestSnapshot
        case .snapshotRequest: .snapshotRequest
        case .hello, .goodbye, .report: .acknowledgement
        }
    }
}
