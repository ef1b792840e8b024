public import Foundation

/// The domain of every `WCError`.
// swift-format-ignore: AlwaysUseLowerCamelCase
public let WCErrorDomain: String = "WCErrorDomain"

/// An error of the framework, with Apple's names and numbers.
///
/// It bridges as Apple's does: `error as? WCError` works for an `NSError` of the domain, `error as NSError` has the
/// domain and code, and `catch WCError.notReachable` matches by code.
///
/// Source: https://developer.apple.com/documentation/watchconnectivity/wcerror
public struct WCError: Error, CustomNSError, Hashable, Sendable {
    /// The code of an error, numbered as in Apple's framework: 7001 to 7019. Future versions may add codes, so a
    /// `switch` needs `@unknown default`.
    #if compiler(>=6.3)
        @nonexhaustive(warn)
    #endif
    public enum Code: Int, Hashable, Sendable, CaseIterable {
        /// 7001: an error without a more specific code.
        case genericError = 7001
        /// 7002: the device doesn't support WatchConnectivity.
        case sessionNotSupported
        /// 7003: the session was activated without a delegate.
        case sessionMissingDelegate
        /// 7004: the session isn't activated.
        case sessionNotActivated
        /// 7005: no watch is paired.
        case deviceNotPaired
        /// 7006: the app isn't installed on the watch.
        case watchAppNotInstalled
        /// 7007: the counterpart doesn't accept messages now.
        case notReachable
        /// 7008: an argument is invalid.
        case invalidParameter
        /// 7009: the content exceeds the limit in bytes.
        case payloadTooLarge
        /// 7010: a value isn't a property list value.
        case payloadUnsupportedTypes
        /// 7011: the counterpart couldn't reply.
        case messageReplyFailed
        /// 7012: no reply arrived in time.
        case messageReplyTimedOut
        /// 7013: the file can't be read.
        case fileAccessDenied
        /// 7014: the content couldn't be delivered.
        case deliveryFailed
        /// 7015: the other device has no space left.
        case insufficientSpace
        /// 7016: the phone's session is inactive, while the user switches watches.
        case sessionInactive
        /// 7017: the transfer took too long.
        case transferTimedOut
        /// 7018: the app isn't installed on the phone.
        case companionAppNotInstalled
        /// 7019: the watch app has no companion app.
        case watchOnlyApp

        /// Returns true if the error has this code, so that `catch WCError.notReachable` works.
        public static func ~= (code: Code, error: any Error) -> Bool { (error as? WCError)?.code == code }
    }

    private let bridged: NSError

    /// Creates an error with the description of its code, unless `userInfo` has another.
    public init(_ code: Code, userInfo: [String: Any] = [:]) {
        let described = [NSLocalizedDescriptionKey: code.explanation].merging(userInfo) { $1 }
        bridged = NSError(domain: WCErrorDomain, code: code.rawValue, userInfo: described)
    }

    fileprivate init?(bridging error: NSError) {
        guard error.domain == WCErrorDomain else { return nil }
        bridged = error
    }

    /// The code, `genericError` for unknown numbers.
    public var code: Code { Code(rawValue: bridged.code) ?? .genericError }
    /// The user info of the underlying `NSError`.
    public var userInfo: [String: Any] { bridged.userInfo }
    public var localizedDescription: String { bridged.localizedDescription }

    public static var errorDomain: String { WCErrorDomain }
    public var errorCode: Int { bridged.code }
    public var errorUserInfo: [String: Any] { bridged.userInfo }
}

extension WCError {
    /// The code of an error without a more specific code, 7001.
    public static var genericError: Code { .genericError }
    /// The code for a device that doesn't support WatchConnectivity.
    public static var sessionNotSupported: Code { .sessionNotSupported }
    /// The code for a session without a delegate.
    public static var sessionMissingDelegate: Code { .sessionMissingDelegate }
    /// The code for a session that isn't activated.
    public static var sessionNotActivated: Code { .sessionNotActivated }
    /// The code for a phone without a paired watch.
    public static var deviceNotPaired: Code { .deviceNotPaired }
    /// The code for a watch on which the app isn't installed.
    public static var watchAppNotInstalled: Code { .watchAppNotInstalled }
    /// The code for a counterpart that can't be reached.
    public static var notReachable: Code { .notReachable }
    /// The code for a parameter that the framework refuses.
    public static var invalidParameter: Code { .invalidParameter }
    /// The code for a message, user info or context beyond the limit.
    public static var payloadTooLarge: Code { .payloadTooLarge }
    /// The code for a dictionary with values that aren't property lists.
    public static var payloadUnsupportedTypes: Code { .payloadUnsupportedTypes }
    /// The code for a reply that couldn't be returned.
    public static var messageReplyFailed: Code { .messageReplyFailed }
    /// The code for a reply that didn't arrive in time.
    public static var messageReplyTimedOut: Code { .messageReplyTimedOut }
    /// The code for a file that can't be read.
    public static var fileAccessDenied: Code { .fileAccessDenied }
    /// The code for a message or transfer that wasn't delivered.
    public static var deliveryFailed: Code { .deliveryFailed }
    /// The code for a counterpart without space for a transfer.
    public static var insufficientSpace: Code { .insufficientSpace }
    /// The code for a session that is inactive, as while the user switches watches.
    public static var sessionInactive: Code { .sessionInactive }
    /// The code for a transfer that took too long.
    public static var transferTimedOut: Code { .transferTimedOut }
    /// The code for a phone on which the companion app isn't installed.
    public static var companionAppNotInstalled: Code { .companionAppNotInstalled }
    /// The code for a call that a watch-only app can't make.
    public static var watchOnlyApp: Code { .watchOnlyApp }
}

extension WCError.Code {
    fileprivate var explanation: String {
        switch self {
        case .genericError: "Something went wrong"
        case .sessionNotSupported: "This device has no watch connectivity"
        case .sessionMissingDelegate: "The session has no delegate"
        case .sessionNotActivated: "The session has not been activated"
        case .deviceNotPaired: "No device is paired"
        case .watchAppNotInstalled: "The watch app is not installed"
        case .notReachable: "The counterpart app is not reachable"
        case .invalidParameter: "A parameter is invalid"
        case .payloadTooLarge: "The payload is too large"
        case .payloadUnsupportedTypes: "The payload holds what no property list can hold"
        case .messageReplyFailed: "The reply could not be returned"
        case .messageReplyTimedOut: "The reply did not come in time"
        case .fileAccessDenied: "The file could not be read"
        case .deliveryFailed: "The payload could not be delivered"
        case .insufficientSpace: "The counterpart has no space left"
        case .sessionInactive: "The session is inactive"
        case .transferTimedOut: "The transfer took too long"
        case .companionAppNotInstalled: "The companion app is not installed"
        case .watchOnlyApp: "The watch app has no companion app"
        }
    }
}

// This conformance lets the runtime cast an `NSError` to `WCError`.
extension WCError: _ObjectiveCBridgeable {
    public func _bridgeToObjectiveC() -> NSError { bridged }

    public static func _forceBridgeFromObjectiveC(_ source: NSError, result: inout WCError?) {
        result = WCError(bridging: source)
    }

    public static func _conditionallyBridgeFromObjectiveC(_ source: NSError, result: inout WCError?) -> Bool {
        result = WCError(bridging: source)
        return result != nil
    }

    public static func _unconditionallyBridgeFromObjectiveC(_ source: NSError?) -> WCError {
        source.flatMap(WCError.init(bridging:)) ?? WCError(.genericError)
    }
}
