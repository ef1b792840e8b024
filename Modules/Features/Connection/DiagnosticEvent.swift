public import MeshFoundation

/// An event of a connection: of the platform's session, a request or a file.
public enum DiagnosticEvent: Sendable, Hashable {
    /// The platform's session has become active.
    case sessionActivated
    /// The platform's session was ended, as on a phone when its user switches to another watch.
    case sessionDeactivated
    /// The platform's session is about to end and accepts no messages.
    case sessionBecameInactive
    /// A peer has become reachable or unreachable.
    case reachabilityChanged(isReachable: Bool)
    /// A request was answered, `duration` after the call. A fire-and-forget request counts as answered once the peer
    /// has confirmed it or the transport keeps it.
    case messageSent(requestType: String, duration: Duration)
    /// A request has arrived.
    case messageReceived(requestType: String)
    /// A request wasn't sent or wasn't answered.
    case deliveryFailed(requestType: String, error: ConnectionError, willRetry: Bool)
    /// The first lane of a request has failed, and the second is tried.
    case fallbackUsed(from: DeliveryMethod, to: DeliveryMethod)
    /// A request waits for the peer. `queueSize` requests wait in total.
    case requestQueued(requestType: String, queueSize: Int)
    /// Requests no longer wait for the peer; `count` is their number.
    case queueFlushed(count: Int)
    /// The request is too old: it wasn't sent, or arrived too late and wasn't handled.
    case requestExpired(requestType: String)
    /// The results of the last sends have changed the connection's health.
    case healthChanged(from: SessionHealth, to: SessionHealth)
    /// `attemptRecovery` sends a probe.
    case recoveryAttempted
    /// A probe was answered.
    case recoverySucceeded
    /// No probe was answered.
    case recoveryFailed(error: ConnectionError)
    /// The transfer of a file has started.
    case fileTransferStarted(fileURL: URL, hasMetadata: Bool)
    /// The app on the other side has taken a file.
    case fileTransferCompleted(fileURL: URL)
    /// A file will not arrive.
    case fileTransferFailed(fileURL: URL, error: ConnectionError)
    /// A file has arrived.
    case fileReceived(fileURL: URL, hasMetadata: Bool)
    /// The platform has delivered an application context of the other side.
    case applicationContextReceived
    /// A request of that type or its reply couldn't be encoded or decoded. Debug builds also report a message whose
    /// encoding loses a field: they print the field's name to standard error and send the message.
    case requestEncodingFailed(requestType: String)
}

extension DiagnosticEvent: CustomStringConvertible {
    public var description: String {
        switch self {
        case .sessionActivated: "the session is active"
        case .sessionDeactivated: "the session was deactivated"
        case .sessionBecameInactive: "the session became inactive"
        case .reachabilityChanged(let isReachable): isReachable ? "reachable" : "not reachable"
        case .messageSent(let type, let duration): "\(type) succeeded after \(duration)"
        case .messageReceived(let type): "received \(type)"
        case .deliveryFailed(let type, let error, let willRetry):
            "\(type) failed: \(error)\(willRetry ? "; trying again" : "")"
        case .fallbackUsed(let from, let to): "using \(to.rawValue) instead of \(from.rawValue)"
        case .requestQueued(let type, let size): "\(type) waits for the peer; \(size) requests wait in total"
        case .queueFlushed(let count): "\(count) requests no longer wait"
        case .requestExpired(let type): "\(type) has expired"
        case .healthChanged(let from, let to): "health changed from \(from) to \(to)"
        case .recoveryAttempted: "trying to recover"
        case .recoverySucceeded: "recovered"
        case .recoveryFailed(let error): "recovery failed: \(error)"
        case .fileTransferStarted(let url, let hasMetadata):
            "sending \(url.lastPathComponent)\(hasMetadata ? " with metadata" : "")"
        case .fileTransferCompleted(let url): "\(url.lastPathComponent) has arrived"
        case .fileTransferFailed(let url, let error): "\(url.lastPathComponent) failed: \(error)"
        case .fileReceived(let url, let hasMetadata):
            "received \(url.lastPathComponent)\(hasMetadata ? " with metadata" : "")"
        case .applicationContextReceived: "received an application context"
        case .requestEncodingFailed(let type): "\(type) or its reply can't be encoded or decoded without loss"
        }
    }
}
