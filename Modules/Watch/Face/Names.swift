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

// Names from WatchConnectivitySwift for API that has other names here. All other names are the same in both libraries.

/// WatchConnectivitySwift's name of a request.
public typealias WatchRequest = SessionRequest
/// WatchConnectivitySwift's name of the error type.
public typealias WatchConnectionError = ConnectionError

extension DeliveryStrategy {
    /// WatchConnectivitySwift's name of ``liveThenQueue``.
    public static var messageWithUserInfoFallback: Self { .liveThenQueue }
    /// WatchConnectivitySwift's name of ``liveThenLatest``.
    public static var messageWithContextFallback: Self { .liveThenLatest }
    /// WatchConnectivitySwift's name of ``liveOnly``.
    public static var messageOnly: Self { .liveOnly }
    /// WatchConnectivitySwift's name of ``queueOnly``.
    public static var userInfoOnly: Self { .queueOnly }
    /// WatchConnectivitySwift's name of ``latestOnly``.
    public static var contextOnly: Self { .latestOnly }
}

extension DeliveryMethod {
    /// WatchConnectivitySwift's name of ``live``.
    public static var message: Self { .live }
    /// WatchConnectivitySwift's name of ``queue``.
    public static var userInfo: Self { .queue }
    /// WatchConnectivitySwift's name of ``latest``.
    public static var context: Self { .latest }
}

extension RecoverySuggestion {
    /// WatchConnectivitySwift's name of ``restartOtherDevice``.
    public static var restartWatch: Self { .restartOtherDevice }
}

extension ConnectionError {
    /// WatchConnectivitySwift's name of ``appNotInstalled``.
    public static var watchAppNotInstalled: Self { .appNotInstalled }

    /// Allows `catch WatchConnectionError.watchAppNotInstalled`, because it's an enum case in WatchConnectivitySwift.
    public static func ~= (pattern: Self, error: any Error) -> Bool { error as? Self == pattern }
}
