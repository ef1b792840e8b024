public import MeshFoundation

/// An event of a connection: of the platform's session, a request or a file.
public enum DiagnosticEvent: Sendable, Hashable {
    /// The platform's session has become active.
    case sessionActivated
    /// The platform's session was given up, as a phone does when its user takes another watch.
    case sessionDeactivated
    /// The platform's session goes, and takes nothing more.
    case sessionBecameInactive
    /// A peer can be reached, or no longer.
    case reachabilityChanged(isReachable: Bool)
    /// A request was answered, so long after it was sent.
    case messageSent(requestType: String, duration: Duration)
    /// A request has come.
    case messageReceived(requestType: String)
    /// A request did not go out or was not answered.
    case deliveryFailed(requestType: String, error: ConnectionError, willRetry: Bool)
    /// The first way of a request failed, and the second is tried.
    case fallbackUsed(from: DeliveryMethod, to: DeliveryMethod)
    /// A request waits for the peer, with so many in all.
    case requestQueued(requestType: String, queueSize: Int)
    /// Requests that waited have gone out, so many at once.
    case queueFlushed(count: Int)
    /// The request is too old: it wasn't sent, or arrived too late and wasn't handled.
    case requestExpired(requestType: String)
    /// The results of the last sends have changed the connection's health.
    case healthChanged(from: SessionHealth, to: SessionHealth)
    /// `attemptRecovery` sends a probe.
    case recoveryAttempted
    /// A probe has come back.
    case recoverySucceeded
    /// No probe came back.
    case recoveryFailed(error: ConnectionError)
    /// A file is on its way.
    case fileTransferStarted(fileURL: URL, hasMetadata: Bool)
    /// A file has arrived at the other side.
    case fileTransferCompleted(fileURL: URL)
    /// A file will not arrive.
    case fileTransferFailed(fileURL: URL, error: ConnectionError)
    /// A file has come.
    case fileReceived(fileURL: URL, hasMetadata: Bool)
    /// The platform has handed over a context of the other side.
    case applicationContextReceived
    /// The received bytes weren't a request of that type, or it or its reply couldn't be encoded. In debug builds also:
    /// encoding loses one of the request's fields, which standard error names; it was sent all the same.
    case requestEncodingFailed(requestType: String)
}

extension DiagnosticEvent: CustomStringConvertible {
    public var description: String {
        switch self {
        case .sessionActivated: "the session is active"
        case .sessionDeactivated: "the session was deactivated"
        case .sessionBecameInactive: "the session became inactive"
        case .reachabilityChanged(let isReachable): isReachable ? "reachable" : "not reachable"
        case .messageSent(let type, let duration): "\(type) was answered after \(duration)"
        case .messageReceived(let type): "received \(type)"
        case .deliveryFailed(let type, let error, let willRetry):
            "\(type) failed: \(error)\(willRetry ? "; trying again" : "")"
        case .fallbackUsed(let from, let to): "\(to.rawValue) takes the place of \(from.rawValue)"
        case .requestQueued(let type, let size): "\(type) waits, one of \(size)"
        case .queueFlushed(let count): "\(count) requests no longer wait"
        case .requestExpired(let type): "\(type) has expired"
        case .healthChanged(let from, let to): "health was \(from) and is \(to)"
        case .recoveryAttempted: "trying to recover"
        case .recoverySucceeded: "recovered"
        case .recoveryFailed(let error): "did not recover: \(error)"
        case .fileTransferStarted(let url, let hasMetadata):
            "sending \(url.lastPathComponent)\(hasMetadata ? " with metadata" : "")"
        case .fileTransferCompleted(let url): "\(url.lastPathComponent) has arrived"
        case .fileTransferFailed(let url, let error): "\(url.lastPathComponent) failed: \(error)"
        case .fileReceived(let url, let hasMetadata):
            "received \(url.lastPathComponent)\(hasMetadata ? " with metadata" : "")"
        case .applicationContextReceived: "received an application context"
        case .requestEncodingFailed(let type): "\(type) is not what it says"
        }
    }
}
