import MeshIdentity
import MeshTransport
import MeshWire

/// What the core wants done, in this order. Taken by whoever drives it after each call.
struct DeliveryDirectives {
    enum Arrival {
        case envelope(AnySessionSyncEnvelope)
        /// Several that came together.
        case envelopes([AnySessionSyncEnvelope])
        /// One that must not be lost on the way to whoever subscribes.
        case durable(AnySessionSyncEnvelope)
        case snapshot(AnySessionSyncSnapshot)
        case request(SessionSnapshotRequest)
        case reachability(SessionPeerReachability)
    }

    /// What is to be passed on.
    var arrivals: [Arrival] = []
    var changes: [DeliveryChange] = []
    var diagnostics: [SessionDiagnosticEvent] = []
    /// Where frames wait. May name one twice.
    var writable: [LinkAddress] = []
    /// Connections of which nothing can come.
    var hopeless: [(address: LinkAddress, farewell: WireGoodbye)] = []
    /// Something waits for room at the subscribers.
    var isStalled = false
    /// It has waited long enough for those that are full.
    var abandonsFull = false
    /// Sends that were told to wait may be tried again.
    var hasRoom = false
}

/// What is to be in the store before it counts.
enum DeliveryChange {
    case accepted(peerID: String, ChannelKey, number: UInt64, WireMessage, expiresAt: UInt64?)
    /// Everything of the feature before that number of that outbox may be forgotten.
    case settled(peerID: String, ChannelKey, first: UInt64)
    case received(peerID: String, ChannelKey, number: UInt64, WireMessage)
    case published(LatestOffer)
    /// Nothing is known of that outbox of the peer any more.
    case outboxForgotten(peerID: String, outbox: UInt32)
    case newest(peerID: String, AnySessionSyncSnapshot, WireMark)
    case met(SessionPeer, isGuest: Bool)
    case forgotten(peerID: String)
    case pending(PendingDeliveryQueue)
}
