public import MeshConnection
import MeshIdentity
public import MeshKeySync
public import MeshStorage
public import MeshTransport
import MeshWatchConnectivityTransport

/// What each half does at its launch, whichever is launched first.
public enum PlayerApp {
    /// - Parameters:
    ///   - isWatch: which half this is.
    ///   - store: keeps the values, and what is on its way; SQLiteStore in an app.
    ///   - clock: a test passes that of its simulated pair.
    /// - Throws: what the store throws.
    /// - Returns: the connection, which the app holds as long as it runs.
    public static func launch(
        isWatch: Bool, store: any SessionStore, clock: any DeliveryClock = SystemClock(),
        router: StorageRouter = .shared
    ) async throws -> TransportConnection {
        let peer = SessionPeer(
            id: isWatch ? "watch" : "phone", deviceClass: isWatch ? .watch : .phone, appInstanceID: "player",
            topology: .pairedCompanion)
        let transport = try WatchConnectivitySessionSyncTransport(localPeer: peer, store: store, clock: clock)
        let connection = TransportConnection(transport: transport, store: store, clock: clock)
        await PlayerKeys.register(in: router)
        try await router.attach(to: connection)
        return connection
    }
}
