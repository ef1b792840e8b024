public import MeshBase
import MeshIdentity

/// An error of requests, shared state or files. It can be sent, so a peer's error arrives as it was thrown.
public enum ConnectionError: Error, Codable, Hashable, Sendable {
    /// The platform's session isn't active.
    case notActivated
    /// No peer can be reached now, and the call doesn't wait for one.
    case notReachable
    /// No other device is paired with this one.
    case notPaired
    /// The other device has not installed the app.
    case appNotInstalled
    /// The transport or the platform didn't accept the message.
    case deliveryFailed(reason: String)
    /// The caller's time limit is over.
    case timeout
    /// The caller cancelled the operation, or a newer one has replaced it.
    case cancelled
    /// The other side couldn't send its reply.
    case replyFailed(reason: String)
    /// The value to send can't be encoded.
    case encodingFailed(description: String)
    /// The received bytes can't be decoded.
    case decodingFailed(description: String)
    /// The peer has no handler for requests of that type.
    case handlerNotRegistered(requestType: String)
    /// The handler threw an error that can't be sent. The text describes it.
    case handlerError(description: String)
    /// The other side failed in another way. The text comes from there.
    case remoteError(description: String)
    /// An error of the platform, with its code.
    case sessionError(code: Int, description: String)
    /// The connection claims to work, but no reply arrives.
    case sessionUnhealthy(reason: String)
    /// The file doesn't exist.
    case fileNotFound(url: String)
    /// The file exists, but this process may not read it.
    case fileAccessDenied(url: String)
    /// The disk is full, or a bound on stored data is reached.
    case insufficientSpace
    /// Something else on this connection uses that ID.
    case idInUse(id: String)
    /// The message exceeds the limit with that ID; see `PayloadLimit`.
    case payloadTooLarge(bytes: Int, limit: Int, limitID: String)
    /// The peer uses a version or a protocol that isn't understood here.
    case incompatiblePeer(reason: String)

    /// The names of the cases on the wire.
    private enum CodingKeys: String, CodingKey {
        case notActivated, notReachable, notPaired, deliveryFailed, timeout, cancelled, replyFailed, encodingFailed
        case decodingFailed, handlerNotRegistered, handlerError, remoteError, sessionError, sessionUnhealthy
        case fileNotFound, fileAccessDenied, insufficientSpace, idInUse, payloadTooLarge, incompatiblePeer
        case appNotInstalled = "watchAppNotInstalled"
    }
}

extension ConnectionError {
    /// Converts any error to the error that a sender sees.
    public init(_ error: any Error) {
        switch error {
        case let error as ConnectionError: self = error
        case is CancellationError: self = .cancelled
        case SessionSyncError.notReachable, SessionSyncError.unknownPeer: self = .notReachable
        case SessionSyncError.closed: self = .notActivated
        case SessionSyncError.payloadTooLarge(let bytes, let limit, let limitID):
            self = .payloadTooLarge(bytes: bytes, limit: limit, limitID: limitID)
        case let error as SessionSyncError: self = .deliveryFailed(reason: "\(error)")
        case let error as EncodingError: self = .encodingFailed(description: "\(error)")
        case let error as DecodingError: self = .decodingFailed(description: "\(error)")
        default: self = .sessionError(code: -1, description: "\(error)")
        }
    }
}

extension ConnectionError {
    /// True if every retry fails in the same way until an app or the value changes.
    package var isLasting: Bool {
        switch self {
        case .encodingFailed, .decodingFailed, .handlerNotRegistered, .idInUse, .payloadTooLarge, .incompatiblePeer:
            true
        default: false
        }
    }
}

extension ConnectionError: ExplainedError {
    /// The text of a handler's error as it was written. For every other error, what happened and what to do.
    public var errorDescription: String? {
        if case .handlerError(let text) = self { text } else { explanation(of: description) }
    }

    public var advice: String {
        switch self {
        case .notActivated: "Open a connection first. A closed one can't be reopened."
        case .notReachable: "Open the app on the other device and bring the two close to each other."
        case .notPaired: "Pair another device with this one."
        case .appNotInstalled: "Install the app on the other device."
        case .deliveryFailed, .replyFailed: "Try again when the other device can be reached."
        case .timeout: "The request may still have run: check the other device before you repeat it."
        case .cancelled: "Start it again if you still need it."
        case .encodingFailed: "Check the value, for example for numbers that aren't finite."
        case .decodingFailed, .incompatiblePeer: "Update the app on both devices."
        case .handlerNotRegistered: "Update the app on the other device, or register a handler there."
        case .handlerError: ""
        case .remoteError: "Check the other device, then try again."
        case .sessionError: "Try again. If it fails again, restart the app on both devices."
        case .sessionUnhealthy: "Restart the app on both devices. If that doesn't help, restart the devices."
        case .fileNotFound: "Check the path, and that the file hasn't been moved."
        case .fileAccessDenied: "Choose a file that the app may read."
        case .insufficientSpace: "Free some space on both devices, then try again."
        case .idInUse: "Use another ID, or the object that already has this one."
        case .payloadTooLarge: "Send less at once, or send it as a file."
        }
    }

    public var description: String {
        switch self {
        case .notActivated: "the session isn't active"
        case .notReachable: "the other device can't be reached"
        case .notPaired: "no other device is paired"
        case .appNotInstalled: "the app isn't installed on the other device"
        case .deliveryFailed(let reason): "not delivered: \(reason)"
        case .timeout: "no answer within the timeout"
        case .cancelled: "cancelled"
        case .replyFailed(let reason): "the reply couldn't be sent: \(reason)"
        case .encodingFailed(let description): "the value can't be encoded: \(description)"
        case .decodingFailed(let description): "the received data can't be decoded: \(description)"
        case .handlerNotRegistered(let type): "the other device has no handler for \(type)"
        case .handlerError(let description): "the handler failed: \(description)"
        case .remoteError(let description): "the other device failed: \(description)"
        case .sessionError(let code, let description): "error \(code) of the session: \(description)"
        case .sessionUnhealthy(let reason): "the session is stuck: \(reason)"
        case .fileNotFound(let url): "there is no file at \(url)"
        case .fileAccessDenied(let url): "no access to the file\(url.isEmpty ? "" : " at \(url)")"
        case .insufficientSpace: "not enough space"
        case .idInUse(let id): "the ID '\(id)' is already in use on this connection"
        case .payloadTooLarge(let bytes, let limit, let limitID):
            "\(bytes) bytes exceed the limit of \(limit) bytes (\(limitID))"
        case .incompatiblePeer(let reason): "the other device uses an incompatible version or protocol: \(reason)"
        }
    }
}
