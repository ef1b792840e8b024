import Foundation
public import MeshConnection

#if canImport(WatchConnectivity)
    public import WatchConnectivity
#else
    public import MeshSimulatedWatch
#endif

extension ConnectionError {
    /// Converts an error of WatchConnectivity. Each known code maps to a case; an unknown one becomes `sessionError`.
    public init(wcError: WCError) {
        let description = wcError.localizedDescription
        switch wcError.code {
        case .sessionNotActivated, .sessionInactive: self = .notActivated
        case .deviceNotPaired: self = .notPaired
        case .watchAppNotInstalled, .companionAppNotInstalled: self = .appNotInstalled
        case .notReachable: self = .notReachable
        case .invalidParameter, .payloadTooLarge, .payloadUnsupportedTypes:
            self = .encodingFailed(description: description)
        case .messageReplyFailed: self = .replyFailed(reason: description)
        case .messageReplyTimedOut, .transferTimedOut: self = .timeout
        case .fileAccessDenied: self = .fileAccessDenied(url: "")
        case .deliveryFailed: self = .deliveryFailed(reason: description)
        case .insufficientSpace: self = .insufficientSpace
        case .genericError, .sessionNotSupported, .sessionMissingDelegate, .watchOnlyApp:
            self = .sessionError(code: wcError.code.rawValue, description: description)
        @unknown default: self = .sessionError(code: wcError.code.rawValue, description: description)
        }
    }

    /// Converts any error, including the platform's, to the error that a sender sees.
    public init(error: any Error) {
        if let error = error as? WCError { self.init(wcError: error) } else { self.init(error) }
    }
}
