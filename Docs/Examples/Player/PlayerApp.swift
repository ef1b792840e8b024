public import MeshConnection
import MeshIdentity
public import MeshKeySync
public import MeshStorage
import MeshTransport
import MeshWatchConnectivityTransport

/// What each half does at its launch, whichever is launched first.
public enum PlayerApp {
    /// - Parameters:
    ///   - isWatch: which half this is.
    ///   - store: keeps the values, and what is on its way; SQLiteStore in an app.
    /// - Throws: what the store throws.
    public static func launch(
        isWatch: Bool, store: any SessionStore, router: StorageRouter = .shared
    ) async throws -> TransportConnection {
        let peer = SessionPeer(
            id: isWatch ? "watch" : "phone", deviceClass: isWatch ? .watch : .phone, appInstanceID: "player",
            topology: .pairedCompanion)
        let transport = try WatchConnectivitySessionSyncTransport(localPeer: peer, store: store)
        return try await start(TransportConnection(transport: transport, store: store), router: router)
    }

    static func start(_ connection: TransportConnection, router: StorageRouter) async throws -> TransportConnection {
        await PlayerKeys.register(in: router)
        try await router.attach(to: connection)
        return connection
    }
}
