@_exported public import MeshConnection
@_exported public import MeshFileTransfer
@_exported public import MeshIdentity
@_exported public import MeshRequests
@_exported public import MeshSharedState
@_exported public import MeshStorage
@_exported public import MeshTransport
@_exported public import MeshWatchConnectivityTransport

#if canImport(WatchConnectivity)
    @_exported public import WatchConnectivity
#else
    @_exported public import MeshSimulatedWatch
#endif

// The names of WatchConnectivitySwift for what is called otherwise here. Everything else keeps its name.

public typealias WatchRequest = SessionRequest
public typealias WatchConnectionError = ConnectionError

extension DeliveryStrategy {
    public static var messageWithUserInfoFallback: Self { .liveThenQueue }
    public static var messageWithContextFallback: Self { .liveThenLatest }
    public static var messageOnly: Self { .liveOnly }
    public static var userInfoOnly: Self { .queueOnly }
    public static var contextOnly: Self { .latestOnly }
}

extension DeliveryMethod {
    public static var message: Self { .live }
    public static var userInfo: Self { .queue }
    public static var context: Self { .latest }
}

extension RecoverySuggestion {
    public static var restartWatch: Self { .restartOtherDevice }
}

extension ConnectionError {
    public static var watchAppNotInstalled: Self { .appNotInstalled }

    /// For `catch WatchConnectionError.watchAppNotInstalled`, which is a case there.
    public static func ~= (pattern: Self, error: any Error) -> Bool { error as? Self == pattern }
}
