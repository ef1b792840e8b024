import MeshIdentity
import MeshTransport
import MeshWire

/// The actions that the core requests. The driver takes them after each call.
struct DeliveryDirectives {
    enum Arrival {
        case envelope(AnySessionSyncEnvelope)
        /// Envelopes that arrived together.
        case envelopes([AnySessionSyncEnvelope])
        /// An envelope that subscribers mustn't miss.
        case durable(AnySessionSyncEnvelope)
        case snapshot(AnySessionSyncSnapshot)
        case request(SessionSnapshotRequest)
        case reachability(SessionPeerReachability)
    }

    /// Elements to pass on.
    var arrivals: [Arrival] = []
    var changes: [DeliveryChange] = []
    var diagnostics: [SessionDiagnosticEvent] = []
    /// Addresses with frames to send, possibly with duplicates.
    var writable: [LinkAddress] = []
    /// Connections to end, with their goodbye.
    var connectionsToEnd: [(address: LinkAddress, goodbye: WireGoodbye)] = []
    /// True if messages wait for space at the subscribers.
    var isStalled = false
    /// True if the driver must abandon full subscribers, because they have had enough time to read.
    var abandonsFull = false
    /// True if sends that wait may be tried again.
    var resumesWaiters = false
}

/// A change to write to the store. Accepted and received messages take effect only once they are stored.
enum DeliveryChange {
    case accepted(peerID: String, ChannelKey, number: UInt64, WireMessage, expiresAt: UInt64?)
    /// The store may drop the feature's messages before that number of that outbox.
    case truncated(peerID: String, ChannelKey, first: UInt64)
    case cancelled(peerID: String, ChannelKey, numbers: [UInt64])
    case received(peerID: String, ChannelKey, number: UInt64, WireMessage)
    case published(LatestOffer)
    /// The receiver no longer remembers that outbox of the peer.
    case outboxForgotten(peerID: String, outbox: UInt32)
    case newest(peerID: String, AnySessionSyncSnapshot, WireMark)
    case met(SessionPeer, isGuest: Bool)
    case forgotten(peerID: String)
    case pending(PendingDeliveryQueue)
}
