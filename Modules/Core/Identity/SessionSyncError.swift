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
    /// The transport doesn't support this mode for this kind of message.
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
    /// The session, or one of its peers, has the maximum number of sources: of incarnations. `limit` is 1,024 for the
    /// session and 64 for a peer. Nothing was accepted.
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
        case .sessionMismatch: "the message belongs to another session"
        case .featureMismatch: "the message belongs to another feature"
        case .payloadTypeMismatch: "the message's payload type isn't this session's"
        case .unsupportedProtocolVersion(let received, let supported):
            "the peer uses protocol version \(received); this library reads versions up to \(supported)"
        case .unsupportedDeliveryMode: "the transport doesn't support this delivery mode"
        case .payloadTooLarge(let bytes, let limit, let limitID):
            "\(bytes) bytes exceed the limit of \(limit) (\(limitID))"
        case .payloadEncodingFailed(let type, let description): "payload '\(type)' can't be encoded: \(description)"
        case .payloadDecodingFailed(let type, let description): "payload '\(type)' can't be decoded: \(description)"
        case .unknownPeer(let id): "peer '\(id)' isn't known to this transport"
        case .notReachable: "no peer can be reached now"
        case .tooManySources(let limit): "the limit of \(limit) sources, of one peer or in all, has been reached"
        case .outOfRange(let field): "the peer's \(field) is out of range"
        case .queueFull(let limit): "the queue is full: it holds at most \(limit) entries"
        case .logFull(let limit):
            "the log is full: it holds at most \(limit) own unconfirmed events, fewer if they are large"
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
        case .sessionMismatch: "Pass a message only to the session with its session ID."
        case .featureMismatch: "Pass a message only to the engine with its feature ID."
        case .payloadTypeMismatch: "Use the same payload type on both devices, and a new type for a changed payload."
        case .unsupportedProtocolVersion: "Update the app on this device."
        case .unsupportedDeliveryMode: "Choose a mode that the transport's capabilities list."
        case .payloadTooLarge: "Send less at once, or send it as a file."
        case .payloadEncodingFailed:
            "Check the value for anything that can't be encoded, such as numbers that aren't finite."
        case .payloadDecodingFailed: "The other device may have another version of the app. Make new fields optional."
        case .unknownPeer: "Wait until the transport has found the peer, or omit the peer to send to all."
        case .notReachable: "Open the app on the other device, or use a mode that waits."
        case .tooManySources:
            "Start a new session. Give each device a store, so that it doesn't count as a new source after each launch."
        case .outOfRange: "Update the app on that device. If that doesn't help, unpair it."
        case .queueFull: "Wait until some entries have been sent, then try again."
        case .logFull: "Wait until the other devices have confirmed some events. If one won't come back, remove it."
        case .sessionEnded: "Start a new session."
        case .sessionClosed: "Open the session again, or start a new one. A closed session accepts nothing."
        case .closed: "Create a new transport. A closed one can't be opened again."
        }
    }
}
