import Foundation
public import MeshConnection
import MeshIdentity
public import MeshKeySync
public import MeshStorage
public import MeshTransport
import MeshWatchConnectivityTransport

/// Launches one half of the app, phone or watch. Either may be launched first.
public enum PlayerApp {
    /// - Parameters:
    ///   - isWatch: True on the watch.
    ///   - store: Keeps the values, and messages not delivered yet. Use `SQLiteStore` in an app.
    ///   - clock: The transport's clock. A test passes its simulated pair's.
    /// - Throws: An error of the store.
    /// - Returns: The connection. Keep it while the app runs.
    public static func launch(
        isWatch: Bool, store: any SessionStore, clock: any DeliveryClock = SystemClock(),
        router: StorageRouter = .shared
    ) async throws -> TransportConnection {
        let peer = SessionPeer(
            id: isWatch ? "watch" : "phone", deviceClass: isWatch ? .watch : .phone, appInstanceID: UUID().uuidString,
            topology: .pairedCompanion)
        let transport = try WatchConnectivitySessionSyncTransport(localPeer: peer, store: store, clock: clock)
        let connection = TransportConnection(transport: transport, store: store, clock: clock)
        await PlayerKeys.register(in: router)
        try await router.attach(to: connection)
        return connection
    }
}
