/// The guarantee that a sender requests for one message. A transport honors the mode or throws; a mode isn't a hint.
public enum SessionDeliveryMode: String, Hashable, Sendable, CaseIterable, Codable {
    /// The message is sent as soon as possible, in no order.
    ///
    /// Over a link whose platform keeps a queue (WatchConnectivity), the transport keeps an event as soon as `send` is
    /// called, even before the first hello. It sends the event live to a peer that has answered, and through the queue
    /// to any other. Over other links it doesn't keep the event, and `send` throws `notReachable` while no peer is
    /// connected. An engine's log repairs losses in both cases.
    case realtimeBestEffort
    /// Arrives once and in order for each peer and feature, when the peer is next reachable; with a durable store even
    /// after relaunches. If the queue is full, `send` waits while the peer is connected, and else throws `queueFull`.
    case reliableEventually
    /// The newest snapshot of each feature arrives, even at a peer that connects later. Older ones may never arrive. A
    /// store keeps a snapshot for all peers, but not one for a single peer. For snapshots only.
    case latestSnapshot
    /// Requests state that this peer lacks. The request may be lost; the requester then repeats it.
    case snapshotRequest
    /// Carries an engine's promises, vectors, acknowledgements and newest values. It isn't stored and may be lost; the
    /// next one replaces it.
    case acknowledgement
}

/// The properties of a transport that callers may rely on. Branch on these, never on the transport's type.
public struct SessionTransportCapabilities: Hashable, Sendable {
    /// True if `realtimeBestEffort` reaches a peer while both are connected.
    public let supportsRealtime: Bool
    /// True if `reliableEventually` is offered: an accepted message reaches the peer even if it connects later.
    public let supportsDurableQueue: Bool
    /// True if `latestSnapshot` is offered: a newer snapshot replaces an older one that waits.
    public let supportsLatestStateReplacement: Bool
    /// True if a message can be answered over the same path.
    public let supportsRequestReply: Bool
    /// True if a send without a receiver goes to every peer.
    public let supportsBroadcast: Bool
    /// True if the transport finds peers that the app hasn't named.
    public let supportsPeerDiscovery: Bool
    /// Maximum number of bytes of one encoded payload; nil if unlimited.
    public let maximumPayloadSize: Int?
    /// The usual time between a send and its arrival while both peers are connected.
    public let expectedLatency: SessionExpectedLatency
    /// True if only the peer itself can read what is sent to it, or send in its name.
    public let isSecured: Bool
    /// True if an accepted `realtimeBestEffort` message arrives in order, however late, unless the connection ends or
    /// the receiver's subscriber is full.
    public let deliversWhileConnected: Bool
    /// The transport's abilities beyond the defaults of `SessionSyncTransport`.
    public let extras: SessionTransportExtras

    /// Creates a transport's description of itself. It must apply to every peer that the transport connects.
    public init(
        supportsRealtime: Bool, supportsDurableQueue: Bool, supportsLatestStateReplacement: Bool,
        supportsRequestReply: Bool, supportsBroadcast: Bool, supportsPeerDiscovery: Bool, maximumPayloadSize: Int?,
        expectedLatency: SessionExpectedLatency, isSecured: Bool = false, deliversWhileConnected: Bool = false,
        extras: SessionTransportExtras = []
    ) {
        self.extras = extras
        self.deliversWhileConnected = deliversWhileConnected
        self.isSecured = isSecured
        self.supportsRealtime = supportsRealtime
        self.supportsDurableQueue = supportsDurableQueue
        self.supportsLatestStateReplacement = supportsLatestStateReplacement
        self.supportsRequestReply = supportsRequestReply
        self.supportsBroadcast = supportsBroadcast
        self.supportsPeerDiscovery = supportsPeerDiscovery
        self.maximumPayloadSize = maximumPayloadSize
        self.expectedLatency = expectedLatency
    }
}

/// The optional requirements of `SessionSyncTransport` that a transport implements. For any other, the default does
/// less.
public struct SessionTransportExtras: OptionSet, Hashable, Sendable {
    public let rawValue: Int

    public init(rawValue: Int) { self.rawValue = rawValue }

    /// Sending several envelopes suspends only if there is something to wait for. Without this flag, each envelope
    /// suspends the caller.
    public static let sendsAtOnce = Self(rawValue: 1 << 0)
    /// A `reliableEventually` envelope that arrives before any subscriber of `envelopeBatches`, or that a subscriber
    /// leaves unread, waits for the next subscriber. Without this flag it is lost, like any other envelope.
    public static let keepsUnread = Self(rawValue: 1 << 1)
    /// `cancel` and `isWaiting` work. Without this flag nothing is withdrawn, and a caller may repeat a message that is
    /// still in flight.
    public static let withdrawal = Self(rawValue: 1 << 2)
    /// `admitGuests` works, if the transport verifies peers. Without this flag it admits only peers that it trusts.
    public static let guests = Self(rawValue: 1 << 3)
    /// `isOwn` recognizes the devices of one user. Without this flag each needs an invitation to a session.
    public static let ownDevices = Self(rawValue: 1 << 4)
    /// `revokedPeers` reports the peers that the user has revoked as lost. Without this flag the transport has no keys,
    /// and you remove a lost device from each session (`removeMember`).
    public static let revocation = Self(rawValue: 1 << 5)
    /// The set of all extras.
    public static let all: Self = [.sendsAtOnce, .keepsUnread, .withdrawal, .guests, .ownDevices, .revocation]
}

/// The usual latency of a message, ordered from soonest to latest.
public enum SessionExpectedLatency: Int, Hashable, Sendable, Comparable, Codable {
    /// A message usually arrives within milliseconds.
    case realtime
    /// A message usually arrives within a second.
    case interactive
    /// A message usually arrives within seconds to minutes.
    case background
    /// A message arrives whenever the peer next connects.
    case eventual

    public static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
}
