public import MeshBus
public import MeshIdentity

/// What passed through a session's transport, and what went wrong on the way.
public enum SessionDiagnosticEvent: Sendable {
    case envelopeSent(SessionSyncMetadata, mode: SessionDeliveryMode, peerID: String?)
    case envelopeReceived(SessionSyncMetadata)
    case snapshotSent(SessionSyncMetadata, revision: UInt64, mode: SessionDeliveryMode, peerID: String?)
    case snapshotReceived(SessionSyncMetadata, revision: UInt64)
    case snapshotRequestSent(peerID: String?)
    case snapshotRequestReceived(peerID: String?)
    case reachabilityChanged(peerID: String?, isReachable: Bool)
    case sendFailed(SessionSyncMetadata?, mode: SessionDeliveryMode, reason: String)
    /// Bytes or a message from a peer that could not be used; nothing changed.
    case rejected(peerID: String?, reason: String)
}

extension SessionDiagnosticEvent: CustomStringConvertible {
    public var description: String {
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
        }
    }
}

extension SessionSyncMetadata {
    fileprivate var place: String { "\(featureID) \(sourcePeerID)#\(sequence) \(payloadType)" }
}

extension TopicKey where Element == SessionDiagnosticEvent {
    /// Where every part of a mesh reports. Bounded to 1024 events for each subscriber; the oldest make room.
    public static let diagnostics = TopicKey("sessionmesh.diagnostics", bufferLimit: 1024, overflow: .dropOldest)
}
