import MeshBase
public import MeshIdentity

/// An event in a session's transport: a message that passed, or a failure on the way.
public enum SessionDiagnosticEvent: Sendable {
    /// An envelope was accepted for sending; `peerID` is nil if it goes to all.
    case envelopeSent(SessionSyncMetadata, mode: SessionDeliveryMode, peerID: String?)
    /// An envelope has arrived.
    case envelopeReceived(SessionSyncMetadata)
    /// A snapshot was accepted for sending; `peerID` is nil if it goes to all.
    case snapshotSent(SessionSyncMetadata, revision: UInt64, mode: SessionDeliveryMode, peerID: String?)
    /// A snapshot has arrived.
    case snapshotReceived(SessionSyncMetadata, revision: UInt64)
    /// A snapshot was requested; `peerID` is nil if all peers were asked.
    case snapshotRequestSent(peerID: String?)
    /// A peer requests a snapshot; `peerID` is nil if the transport doesn't know the peer.
    case snapshotRequestReceived(peerID: String?)
    /// A peer has connected or disconnected; `peerID` is nil if the transport can't tell which one.
    case reachabilityChanged(peerID: String?, isReachable: Bool)
    /// A send has thrown; the metadata is nil for a snapshot request.
    case sendFailed(SessionSyncMetadata?, mode: SessionDeliveryMode, reason: String)
    /// Bytes or a message from a peer could not be used; nothing changed.
    case rejected(peerID: String?, reason: String)
    /// A connection was ended because another one greeted under the same peer ID. On the side that ended it, `peerID`
    /// is the other peer's ID; on the other side, the local peer's. Either a peer came back on another path, or two
    /// devices use one ID and displace each other until one is renamed.
    case displaced(peerID: String)
    /// The peer has acknowledged the message.
    case acknowledged(SessionSyncMetadata, peerID: String)
    /// Messages were sent again, because no acknowledgement had arrived.
    case retransmitted(count: Int, peerID: String)
    /// The message's time to live has ended, here or at the peer.
    case expired(SessionSyncMetadata?, peerID: String?)
    /// The caller withdrew the message before the peer acknowledged it.
    case cancelled(SessionSyncMetadata?, peerID: String)
    /// Messages that waited for a peer to become known have been sent.
    case pendingFlushed(count: Int)
    /// Messages were dropped, for the given reason.
    case dropped(count: Int, reason: String)
    /// A subscriber was too far behind and lost elements. The count is the total so far, over all subscribers.
    case subscriberFull(TransportInbox.Stream, droppedCount: UInt64)
    /// Subscribers have no space for a peer's reliable messages. They aren't acknowledged, so the peer waits.
    case stalled(peerID: String, featureID: String)
    /// The health of a peer, judged by its acknowledgements, has changed.
    case healthChanged(peerID: String, from: DeliveryHealth, to: DeliveryHealth)
    /// A probe was answered. The duration is the smoothed round-trip time.
    case roundTrip(peerID: String, duration: Duration)
    /// The store refused a write; sends that relied on it have failed.
    case storeFailed(reason: String)
    /// The peer has messages that this store doesn't remember: the store is an older copy of itself, such as a restored
    /// backup.
    case storeWentBack(peerID: String)
    /// Another device sends hellos with this device's ID, so neither sees the other; or this device receives its own
    /// packets. Debug builds also print it to standard error, once for each transport.
    case peerIDInUse(peerID: String)
}

extension SessionDiagnosticEvent: CustomStringConvertible {
    /// The event in one line, safe for a log and a terminal, whatever text peers have put into it.
    public var description: String { text.printable() }

    private var text: String {
        switch self {
        case .envelopeSent(let metadata, let mode, let peer):
            "sent \(metadata.place) \(mode.rawValue) to \(peer ?? "all")"
        case .envelopeReceived(let metadata): "received \(metadata.place)"
        case .snapshotSent(let metadata, let revision, let mode, let peer):
            "sent snapshot \(revision) of \(metadata.featureID) \(mode.rawValue) to \(peer ?? "all")"
        case .snapshotReceived(let metadata, let revision):
            "received snapshot \(revision) of \(metadata.featureID) from \(metadata.sourcePeerID)"
        case .snapshotRequestSent(let peer): "asked \(peer ?? "all") for a snapshot"
        case .snapshotRequestReceived(let peer): "\(peer ?? "a peer") asks for a snapshot"
        case .reachabilityChanged(let peer, let isReachable):
            "\(peer ?? "a peer") is \(isReachable ? "reachable" : "unreachable")"
        case .sendFailed(let metadata, let mode, let reason):
            "sending \(metadata?.place ?? "a request") \(mode.rawValue) failed: \(reason)"
        case .rejected(let peer, let reason): "rejected a message from \(peer ?? "a peer"): \(reason)"
        case .displaced(let peer): "a newer connection under the ID \(peer) has ended the earlier one"
        case .acknowledged(let metadata, let peer): "\(peer) has \(metadata.place)"
        case .retransmitted(let count, let peer): "sent \(count) messages again to \(peer)"
        case .expired(let metadata, let peer):
            "\(metadata?.place ?? "a message") to or from \(peer ?? "an unknown peer") has expired"
        case .cancelled(let metadata, let peer): "withdrew \(metadata?.place ?? "a message") to \(peer)"
        case .pendingFlushed(let count): "sent \(count) messages that had waited for a peer"
        case .dropped(let count, let reason): "dropped \(count) messages: \(reason)"
        case .subscriberFull(let stream, let count):
            "a subscriber to \(stream.rawValue) is full; \(count) dropped so far"
        case .stalled(let peer, let feature): "\(feature) from \(peer) waits for a subscriber"
        case .healthChanged(let peer, let from, let to): "\(peer) was \(from.rawValue) and is \(to.rawValue)"
        case .roundTrip(let peer, let duration): "round trip to \(peer): \(duration)"
        case .storeFailed(let reason): "the store failed: \(reason)"
        case .storeWentBack(let peer):
            "\(peer) has messages that this store doesn't know: the store is an older copy"
        case .peerIDInUse(let peer):
            "\(SessionProblem.peerIDInUse(peer).message); or the output of this device comes back as its input"
        }
    }
}

extension SessionSyncMetadata {
    fileprivate var place: String { "\(featureID) \(sourcePeerID)#\(sequence) \(payloadType)" }
}
