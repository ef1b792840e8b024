import MeshBase
import MeshIdentity
import MeshTransport
import MeshWire

/// Delivery as a value: what callers send, what links tell and what arrives go in, each with a time; what is to be sent to
/// an address, and what is to be done besides, comes out. No I/O, no clock, no bytes; the one who drives it
/// (`LinkTransport`, or a test in virtual time) has those.
///
/// - A peer is who greets at an address. What is sent reliably is numbered for each peer and feature and offered until the
///   peer has acknowledged it, over as many connections as that takes.
/// - A lossy lane's losses are found by what overtook them (RACK, RFC 8985, with half a round trip for reordering) and
///   by time (RFC 6298). Bytes under way are bounded and not otherwise controlled: links are local.
/// - Newest snapshots are offered by version, until the peer has acknowledged the newest.
/// - Peers are probed when they are silent. See `PeerStanding`.
struct DeliveryCore: Sendable {
    /// The configuration in the core's units, with what it has to know of the link.
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
        /// Nanoseconds, as those below.
        let heartbeat: UInt64
        /// The longest time between two signs of life.
        var idleInterval: UInt64 = 20_000_000_000
        let acknowledgementDelay: UInt64
        let stallPatience: UInt64
        /// The number of the first connection; those after it count on.
        var firstConnection: UInt64 = 1
        /// Changes are to be stored before they count.
        var isDurable = false

        /// - Parameter codecs: that can be read.
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
            heartbeat = configuration.heartbeat.nanoseconds
            acknowledgementDelay = configuration.acknowledgementDelay.nanoseconds
            stallPatience = configuration.stallPatience.nanoseconds
        }

        /// Reliable frames on a live connection.
        var reliableLane: LinkLane? { lanes.contains(.stream) ? .stream : lanes.contains(.datagram) ? .datagram : nil }
        /// Frames that are now or never, on a live connection.
        var immediateLane: LinkLane? { lanes.contains(.datagram) ? .datagram : lanes.contains(.stream) ? .stream : nil }
        var keptLane: LinkLane? { lanes.contains(.queue) ? .queue : nil }
        /// Newest snapshots, to be kept for a peer. Where there is nothing but a queue, they go through it.
        var latestLane: LinkLane? {
            lanes.contains(.latest) ? .latest : reliableLane == nil ? keptLane : nil
        }
        var isLossy: Bool { reliableLane == .datagram }

        /// The rules for a peer's silence.
        /// - Parameter asksSecond: the peer's ID is the lower one, so it asks first.
        func silenceRules(_ agreed: WireAbilities, asksSecond: Bool) -> SilenceRules {
            guard agreed.contains(.announcedSilence) else { return .unannounced(heartbeat: heartbeat) }
            return .announced(
                idleInterval: idleInterval, heartbeat: heartbeat, asksSecond: asksSecond,
                probesMax: keptLane == nil ? 5 : 3)
        }
    }

    let localPeer: SessionPeer
    let settings: Settings
    /// Numbers what this launch accepts. Another one for each launch: a store that went back must not give a number twice.
    let outbox: UInt32
    var peers: [DeliveryPeer] = []
    var peerIndex: [String: Int] = [:]
    var connections: [LinkAddress: DeliveryConnection] = [:]
    var guests = Guests()
    var pending: PendingDeliveryQueue
    /// What waits is to be sent or written once more.
    var isPendingDue = false
    var published: [String: LatestOffer] = [:]
    /// Features in `published`, in the order in which they came.
    var publishedOrder: [String] = []
    var lastVersion: UInt64 = 0
    /// A peer that comes back after it was forgotten gets another outbox: it may remember the numbers of this one.
    var forgottenCount: UInt32 = 0
    /// A peer had more than this store has sent, which was reported.
    private var isKnownOlder = false
    /// Connections that have begun.
    private var connectionCount: UInt64 = 0
    var directives = DeliveryDirectives()
    /// Nothing is due before; there may be nothing then either.
    var deadline = UInt64.max
    /// How many more durable elements can be passed on now. Set by whoever drives the core before each call.
    var room = Int.max
    /// How many bytes of payload they may have; the last may exceed it. Set with `room`.
    var roomBytes = Int.max
    /// What has arrived, of all peers, and is passed on once the store has it.
    private var unstored = (count: 0, bytes: 0)
    /// Somebody listens to what was acknowledged. Set by whoever drives the core, as is `room`.
    var tellsAcknowledgements = false
    /// Since when something waits for room; nil while nothing does.
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

    /// Peers met so far, the local one not among them, nor who was a guest and is none now.
    var knownPeers: [SessionPeer] {
        peers.compactMap { peer in
            let id = peer.peer.id
            return id == localPeer.id || (peer.isGuest && !guests.contains(id)) ? nil : peer.peer
        }
    }

    func health(of peerID: String) -> (health: DeliveryHealth, roundTrip: RoundTripEstimate)? {
        peerIndex[peerID].map { (peers[$0].standing.health, peers[$0].standing.roundTrip) }
    }

    /// Another one for each connection, never 0.
    mutating func nextConnectionNumber() -> UInt64 {
        defer { connectionCount &+= 1 }
        return max(settings.firstConnection &+ connectionCount, 1)
    }

    /// What waits for the store has its room already.
    var hasRoom: Bool { room > unstored.count && roomBytes > unstored.bytes }

    mutating func wake(by time: UInt64) { deadline = min(deadline, time) }

    mutating func noteUnstored(_ message: WireMessage) {
        unstored = (unstored.count + 1, unstored.bytes + message.payloadBytes)
    }

    mutating func noteStored(_ message: WireMessage) {
        unstored = (unstored.count - 1, unstored.bytes - message.payloadBytes)
    }

    var awaitsStore: Bool { unstored.count > 0 }

    /// A peer has what this store doesn't remember sending: it is an older copy of itself. Reported once.
    mutating func noteOlderStore(_ peerID: String) {
        if !isKnownOlder { report(.storeWentBack(peerID: peerID)) }
        isKnownOlder = true
    }

    mutating func report(_ event: SessionDiagnosticEvent) { directives.diagnostics.append(event) }
}

// MARK: - Time

extension DeliveryCore {
    /// Does what is due, and finds out when the next thing is. O(peers and their channels).
    mutating func tick(_ now: DeliveryTime) {
        deadline = .max
        repeatGreetings(now)
        for index in peers.indices {
            dropExpired(index, now)
            probe(index, now)
            resendOverdue(index, now)
            reofferLatest(index, now)
            if !peers[index].stalled.isEmpty { passOnStalled(index, now) }
            if peers[index].reportAt <= now.elapsed { markWritable(index) } else { wake(by: peers[index].reportAt) }
        }
        lookAfterStalled(now)
        lookAfterPending(now)
    }

    /// Whoever has room says so; it is asked again now and then all the same, and not for ever.
    private mutating func lookAfterStalled(_ now: DeliveryTime) {
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
        guard let address = peers[index].address, connections[address]?.isOver == false else { return }
        let before = peers[index].standing.health
        let wasUnheard = isUnheard(index)
        if let number = peers[index].standing.probe(now: now.elapsed) {
            peers[index].probeDue = number
            directives.writable.append(address)
        }
        // What was sent live goes the other way.
        if !wasUnheard, isUnheard(index) { rewind(index) }
        noteHealth(index, before)
        wake(by: peers[index].standing.deadline)
    }

    /// Tells when a peer's health is no longer what it was.
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
        // Whoever waits for a peer that is gone is told so.
        if !isReachable { directives.hasRoom = true }
    }

    /// When a feature's newest snapshot is offered again, if it isn't acknowledged before; nil where no peer answers or
    /// nothing is lost.
    ///
    /// A lane that keeps the newest is slower than a round trip, and what it has is replaced. There the first wait is 5 s, and
    /// each doubles the last, up to the idle interval.
    func reofferTime(of progress: LatestProgress, _ index: Int) -> UInt64? {
        guard peers[index].address != nil, !isUnheard(index) else { return nil }
        let timeout = peers[index].resendTimeout
        guard latestLane(index) != nil else { return settings.isLossy ? progress.sentAt + timeout : nil }
        let wait = Self.latestPatience << UInt64(min(max(progress.attempts, 1), 10) - 1)
        return progress.sentAt + max(min(wait, max(settings.idleInterval, Self.latestPatience)), timeout)
    }

    private static var latestPatience: UInt64 { 5_000_000_000 }

    /// Guests have live lanes only.
    func latestLane(_ index: Int) -> LinkLane? { peers[index].isGuest ? nil : settings.latestLane }

    private mutating func reofferLatest(_ index: Int, _ now: DeliveryTime) {
        for (_, progress) in peers[index].latest where progress.sent > progress.acknowledged {
            guard let due = reofferTime(of: progress, index) else { return }
            if due <= now.elapsed { peers[index].hasLatestDue = true } else { wake(by: due) }
        }
        if peers[index].hasLatestDue { markWritable(index) }
    }

    /// Finds what was lost on a lossy lane by the time that has passed since it was sent.
    private mutating func resendOverdue(_ index: Int, _ now: DeliveryTime) {
        guard settings.isLossy, let address = peers[index].address, !isUnheard(index) else { return }
        let timeout = peers[index].resendTimeout
        guard now.elapsed >= timeout else { return wake(by: timeout) }
        var count = 0
        for channel in peers[index].channels.indices where peers[index].channels[channel].underWayCount > 0 {
            count += peers[index].channels[channel].giveUp(sentBefore: now.elapsed - timeout, knownOnly: false)
        }
        if count > 0 {
            peers[index].window.overdue()
            if let number = peers[index].standing.measure(now: now.elapsed) { peers[index].probeDue = number }
            report(.retransmitted(count: count, peerID: peers[index].peer.id))
        }
        let needsFloor = peers[index].channels.contains { $0.needsFloor }
        if count > 0 || needsFloor { directives.writable.append(address) }
        if peers[index].hasUnderWay || needsFloor { wake(by: now.elapsed + timeout / 2) }
    }

    mutating func dropExpired(_ index: Int, _ now: DeliveryTime) {
        guard peers[index].earliestDeadline != .max else { return }
        guard peers[index].earliestDeadline <= now.elapsed else { return wake(by: peers[index].earliestDeadline) }
        for entry in withdraw(index, where: { $0.deadline <= now.elapsed }) {
            report(.expired(entry.message.metadata, peerID: peers[index].peer.id))
        }
        var earliest = UInt64.max
        for channel in peers[index].channels {
            for number in channel.entries.first..<channel.entries.next where channel.flights[number].progress != .void {
                earliest = min(earliest, channel.entries[number].deadline)
            }
        }
        peers[index].earliestDeadline = earliest
        if earliest != .max { wake(by: earliest) }
    }

    /// Makes void what is unwanted, and sees to it that the peer does not wait for it.
    mutating func withdraw(_ index: Int, where isUnwanted: (OutgoingChannel.Entry) -> Bool) -> [OutgoingChannel.Entry] {
        var gone: [OutgoingChannel.Entry] = []
        for channel in peers[index].channels.indices {
            let entries = peers[index].channels[channel].void(where: isUnwanted)
            guard !entries.isEmpty else { continue }
            gone += entries
            settle(index, channel)
        }
        guard !gone.isEmpty else { return [] }
        peers[index].outstandingCount -= gone.count
        peers[index].outstandingBytes -= gone.reduce(0) { $0 + $1.byteCount }
        directives.hasRoom = true
        markWritable(index)
        return gone
    }

    /// The store may forget what the channel no longer offers, if no earlier launch's messages of the feature are left: of one
    /// feature it keeps all in one row.
    mutating func settle(_ index: Int, _ channel: Int) {
        guard settings.isDurable else { return }
        let hasEarlier = peers[index].earlierCount > 0
        let oldest = hasEarlier ? peers[index].oldestChannel(peers[index].channels[channel].key.featureID) : channel
        let channel = peers[index].channels[oldest ?? channel]
        directives.changes.append(
            .settled(peerID: peers[index].peer.id, channel.key, first: channel.entries.first))
    }

    mutating func markWritable(_ index: Int) {
        guard let address = peers[index].address ?? peers[index].keptAddress else { return }
        if directives.writable.last != address { directives.writable.append(address) }
    }
}

extension WireMessage {
    /// Whom it names as its sender, and what it is; nil where it names nobody. A greeting is checked when it is met.
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
