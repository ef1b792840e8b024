/// The guarantee that a sender asks of the transport for one message. Each mode is its guarantee, not a hint.
public enum SessionDeliveryMode: String, Hashable, Sendable, CaseIterable, Codable {
    /// The message goes out as soon as possible, in no order.
    ///
    /// Over a link whose platform keeps a queue (WatchConnectivity) an event is kept from the first call, even before
    /// any peer has greeted: it goes live to a peer that has answered, else by the queue. Over other links it isn't
    /// stored, and `send` throws `notReachable` while no peer is connected. An engine's log makes up for both.
    case realtimeBestEffort
    /// Arrives once and in order for each peer and feature, when the peer can next be reached; with a durable store also
    /// after relaunches. A full queue makes the send wait while the peer is there, and throw `queueFull` while it is not.
    case reliableEventually
    /// Only the newest for each feature arrives, also at a peer that comes later; older ones may never. Snapshots only.
    case latestSnapshot
    /// A peer lacks something and asks. May be lost; the asker asks again.
    case snapshotRequest
    /// Engine to engine: promises, vectors, acknowledgements, and newest values. Isn't stored and may be lost; the next one
    /// says more.
    case acknowledgement
}

/// The properties of a transport that callers may rely on. Branch on these, never on the transport's type.
public struct SessionTransportCapabilities: Hashable, Sendable {
    /// `realtimeBestEffort` reaches a peer while both are there.
    public let supportsRealtime: Bool
    /// `reliableEventually` is offered: what was accepted reaches the peer later too.
    public let supportsDurableQueue: Bool
    /// `latestSnapshot` is offered: a newer snapshot takes the place of an older one that waits.
    public let supportsLatestStateReplacement: Bool
    /// A message may be answered over the same path.
    public let supportsRequestReply: Bool
    /// A send without a receiver goes to every peer.
    public let supportsBroadcast: Bool
    /// Peers are found; they need not be named beforehand.
    public let supportsPeerDiscovery: Bool
    /// Bytes of one encoded payload; nil when unlimited.
    public let maximumPayloadSize: Int?
    /// The usual time between a send and its arrival while both peers are connected.
    public let expectedLatency: SessionExpectedLatency
    /// Whether only the peer itself can read what is sent to it, or speak in its name.
    public let isSecured: Bool
    /// Whether an accepted `realtimeBestEffort` message arrives in order, however late, unless the connection ends or
    /// the receiver's subscriber is full.
    public let deliversWhileConnected: Bool
    /// The transport's abilities beyond the defaults of `SessionSyncTransport`.
    public let extras: SessionTransportExtras

    /// Creates a transport's description of itself. It must be true of every peer that it connects.
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

/// Requirements of `SessionSyncTransport` that a transport implements itself. Without one, the default does less.
public struct SessionTransportExtras: OptionSet, Hashable, Sendable {
    public let rawValue: Int

    public init(rawValue: Int) { self.rawValue = rawValue }

    /// Several envelopes are sent without suspending where nothing is to be waited for. Else each one suspends the caller.
    public static let sendsAtOnce = Self(rawValue: 1 << 0)
    /// Envelopes that arrived before a subscriber of `envelopeBatches`, or that one left unread, wait for the next
    /// subscriber. Without this flag they are lost.
    public static let keepsUnread = Self(rawValue: 1 << 1)
    /// `cancel` and `isWaiting` answer. Else nothing is withdrawn, and a caller may repeat what is still under way.
    public static let withdrawal = Self(rawValue: 1 << 2)
    /// `admitGuests` lets in, where the transport asks peers who they are. Else only peers that it trusts come in.
    public static let guests = Self(rawValue: 1 << 3)
    /// `isOwn` tells the devices of one user. Else each needs an invitation to a session.
    public static let ownDevices = Self(rawValue: 1 << 4)
    /// `revokedPeers` tells which peers the user has revoked as lost. Else the transport has no keys, and a lost device is
    /// removed from each session by hand (`removeMember`).
    public static let revocation = Self(rawValue: 1 << 5)
    /// Every one of them.
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
    /// Whenever the peer next appears.
    case eventual

    public static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
}
