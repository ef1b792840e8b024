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
