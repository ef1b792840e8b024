#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// What happens on a connection: sessions of the platform, requests, files.
public enum DiagnosticEvent: Sendable, Hashable {
    case sessionActivated
    case sessionDeactivated
    case sessionBecameInactive
    case reachabilityChanged(isReachable: Bool)
    /// A request was answered, so long after it was sent.
    case messageSent(requestType: String, duration: Duration)
    case messageReceived(requestType: String)
    case deliveryFailed(requestType: String, error: ConnectionError, willRetry: Bool)
    case fallbackUsed(from: DeliveryMethod, to: DeliveryMethod)
    /// A request waits for the peer, with so many in all.
    case requestQueued(requestType: String, queueSize: Int)
    case queueFlushed(count: Int)
    /// Nobody wants it any more; it was not sent, or came too late and was not handled.
    case requestExpired(requestType: String)
    case healthChanged(from: SessionHealth, to: SessionHealth)
    case recoveryAttempted
    /// A probe has come back.
    case recoverySucceeded
    case recoveryFailed(error: ConnectionError)
    case fileTransferStarted(fileURL: URL, hasMetadata: Bool)
    case fileTransferCompleted(fileURL: URL)
    case fileTransferFailed(fileURL: URL, error: ConnectionError)
    case fileReceived(fileURL: URL, hasMetadata: Bool)
    case applicationContextReceived
    /// What arrived was no request of that type, or its reply could not be encoded.
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
