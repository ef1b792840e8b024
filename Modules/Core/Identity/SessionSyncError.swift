public import MeshFoundation

/// An error of a session, or of a message between peers.
public enum SessionSyncError: Error, Hashable, Sendable {
    /// The envelope or snapshot belongs to another session.
    case sessionMismatch
    /// The message belongs to another feature.
    case featureMismatch
    /// The message carries another type of payload than this engine reduces.
    case payloadTypeMismatch
    /// The peer uses a version of the session protocol that this library can't read.
    case unsupportedProtocolVersion(received: Int, supported: Int)
    /// The transport does not offer this mode for this kind of message.
    case unsupportedDeliveryMode
    /// The encoded payload exceeds the limit with that ID; see `PayloadLimit`.
    case payloadTooLarge(bytes: Int, limit: Int, limitID: String)
    /// The codec couldn't encode the value. `description` is the codec's error.
    case payloadEncodingFailed(payloadType: String, description: String)
    /// The bytes aren't a value of that type. `description` is the codec's error.
    case payloadDecodingFailed(payloadType: String, description: String)
    /// The named peer isn't one of the transport's known peers.
    case unknownPeer(id: String)
    /// No peer can be reached now, and the delivery mode doesn't wait.
    case notReachable
    /// The session has the maximum number of peers and incarnations. Nothing was accepted.
    case tooManySources(limit: Int)
    /// A number or a moment from a peer is out of range. Nothing was accepted.
    case outOfRange(field: String)
    /// A bounded queue is full. Nothing was accepted.
    case queueFull(limit: Int)
    /// The log has the maximum number or size of unconfirmed own events. No sequence was used. Wait until peers have
    /// confirmed some.
    case logFull(limit: Int)
    /// The session has ended on this device. Nothing was accepted.
    case sessionEnded
    /// The session has been closed on this device. Nothing was accepted.
    case sessionClosed
    /// The transport has been closed.
    case closed
}

extension SessionSyncError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .sessionMismatch: "belongs to another session"
        case .featureMismatch: "belongs to another feature"
        case .payloadTypeMismatch: "carries another payload type than this session's"
        case .unsupportedProtocolVersion(let received, let supported):
            "speaks protocol version \(received); this library reads up to \(supported)"
        case .unsupportedDeliveryMode: "the transport does not offer this delivery mode"
        case .payloadTooLarge(let bytes, let limit, let limitID):
            "\(bytes) bytes exceed the limit of \(limit) (\(limitID))"
        case .payloadEncodingFailed(let type, let description): "payload '\(type)' cannot be encoded: \(description)"
        case .payloadDecodingFailed(let type, let description): "payload '\(type)' cannot be decoded: \(description)"
        case .unknownPeer(let id): "peer '\(id)' is not known to this transport"
        case .notReachable: "no peer can be reached now"
        case .tooManySources(let limit): "the session knows \(limit) sources already"
        case .outOfRange(let field): "the peer's \(field) is out of range"
        case .queueFull(let limit): "the queue is full at \(limit) entries"
        case .logFull(let limit): "\(limit) own events wait to be confirmed, as many as the log may hold"
        case .sessionEnded: "the session has ended"
        case .sessionClosed: "the session has been closed"
        case .closed: "the transport has been closed"
        }
    }
}

extension SessionSyncError: LocalizedError {
    public var errorDescription: String? {
        "\(description.prefix(1).uppercased())\(description.dropFirst()). \(advice)"
    }

    /// The advice that follows the error's description.
    private var advice: String {
        switch self {
        case .sessionMismatch: "Hand each session what has its own session id."
        case .featureMismatch: "Hand each engine what has its own feature id."
        case .payloadTypeMismatch: "Both devices must name their payloads alike; give a changed payload a new type."
        case .unsupportedProtocolVersion: "Update the app on this device."
        case .unsupportedDeliveryMode: "Choose a mode that the transport's capabilities list."
        case .payloadTooLarge: "Send less at once, or send it as a file."
        case .payloadEncodingFailed: "Check what the value holds, such as numbers that are not finite."
        case .payloadDecodingFailed: "The other device may have another version of the app: make new fields optional."
        case .unknownPeer: "Wait until the transport has found it, or leave the peer out to send to all."
        case .notReachable: "Open the app on the other device, or use a mode that waits."
        case .tooManySources: "Begin a new session."
        case .outOfRange: "Update the app on that device; if that does not help, unpair it."
        case .queueFull: "Wait until some of it has been sent, then try again."
        case .logFull: "Wait until the other devices have confirmed some events; if one will not come back, remove it."
        case .sessionEnded: "Begin a new session."
        case .sessionClosed: "Open the session again, or begin a new one; a closed one takes nothing more."
        case .closed: "Make a new transport; a closed one is not opened again."
        }
    }
}
