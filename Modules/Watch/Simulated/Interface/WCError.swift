public import Foundation

/// The domain of every `WCError`.
// swift-format-ignore: AlwaysUseLowerCamelCase
public let WCErrorDomain: String = "WCErrorDomain"

/// What went wrong, as Apple's framework says it.
///
/// Bridges as there: `error as? WCError` finds one in an `NSError` of the domain, `error as NSError` gives domain and code,
/// and `catch WCError.notReachable` matches by code.
///
/// Source: https://developer.apple.com/documentation/watchconnectivity/wcerror
public struct WCError: Error, CustomNSError, Hashable, Sendable {
    // More codes may come: switches over them need `@unknown default`, as with Apple's.
    #if compiler(>=6.3)
        @nonexhaustive(warn)
    #endif
    public enum Code: Int, Hashable, Sendable, CaseIterable {
        case genericError = 7001
        case sessionNotSupported
        case sessionMissingDelegate
        case sessionNotActivated
        case deviceNotPaired
        case watchAppNotInstalled
        case notReachable
        case invalidParameter
        case payloadTooLarge
        case payloadUnsupportedTypes
        case messageReplyFailed
        case messageReplyTimedOut
        case fileAccessDenied
        case deliveryFailed
        case insufficientSpace
        case sessionInactive
        case transferTimedOut
        case companionAppNotInstalled
        case watchOnlyApp

        /// Lets `catch WCError.notReachable` match.
        public static func ~= (code: Code, error: any Error) -> Bool { (error as? WCError)?.code == code }
    }

    private let bridged: NSError

    public init(_ code: Code, userInfo: [String: Any] = [:]) {
        let described = [NSLocalizedDescriptionKey: code.explanation].merging(userInfo) { $1 }
        bridged = NSError(domain: WCErrorDomain, code: code.rawValue, userInfo: described)
    }

    fileprivate init?(bridging error: NSError) {
        guard error.domain == WCErrorDomain else { return nil }
        bridged = error
    }

    /// `genericError` for codes that nobody has heard of.
    public var code: Code { Code(rawValue: bridged.code) ?? .genericError }
    public var userInfo: [String: Any] { bridged.userInfo }
    public var localizedDescription: String { bridged.localizedDescription }

    public static var errorDomain: String { WCErrorDomain }
    public var errorCode: Int { bridged.code }
    public var errorUserInfo: [String: Any] { bridged.userInfo }
}

extension WCError {
    public static var genericError: Code { .genericError }
    public static var sessionNotSupported: Code { .sessionNotSupported }
    public static var sessionMissingDelegate: Code { .sessionMissingDelegate }
    public static var sessionNotActivated: Code { .sessionNotActivated }
    public static var deviceNotPaired: Code { .deviceNotPaired }
    public static var watchAppNotInstalled: Code { .watchAppNotInstalled }
    public static var notReachable: Code { .notReachable }
    public static var invalidParameter: Code { .invalidParameter }
    public static var payloadTooLarge: Code { .payloadTooLarge }
    public static var payloadUnsupportedTypes: Code { .payloadUnsupportedTypes }
    public static var messageReplyFailed: Code { .messageReplyFailed }
    public static var messageReplyTimedOut: Code { .messageReplyTimedOut }
    public static var fileAccessDenied: Code { .fileAccessDenied }
    public static var deliveryFailed: Code { .deliveryFailed }
    public static var insufficientSpace: Code { .insufficientSpace }
    public static var sessionInactive: Code { .sessionInactive }
    public static var transferTimedOut: Code { .transferTimedOut }
    public static var companionAppNotInstalled: Code { .companionAppNotInstalled }
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

// The runtime finds a `WCError` in an `NSError` by this conformance.
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
