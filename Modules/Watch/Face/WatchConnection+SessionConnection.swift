public import Foundation
public import MeshBase
public import MeshConnection
public import MeshIdentity
public import MeshSharedState
public import MeshStorage
public import MeshTransport

// What shared states, and features of the app's own, need of a connection.
extension WatchConnection: SessionConnection {
    public nonisolated var transport: any SessionSyncTransport { core.transport }
    public nonisolated var sessionID: UUID { core.sessionID }
    public nonisolated var store: (any SessionStore)? { core.store }
    public nonisolated var diagnostics: Topic<DiagnosticEvent> { core.diagnostics }
    public nonisolated var health: ConnectionHealth { core.health }
    public nonisolated var clock: any DeliveryClock { core.clock }

    public nonisolated func stamp() -> HybridTimestamp { core.stamp() }
    public nonisolated func observe(_ stamp: HybridTimestamp) { core.observe(stamp) }
    public nonisolated func resume(at stamp: HybridTimestamp) { core.resume(at: stamp) }

    public nonisolated func route(
        featureID: String, to handler: @escaping @Sendable (AnySessionSyncEnvelope) async -> Void
    ) throws(ConnectionError) -> EnvelopeRoute {
        try core.route(featureID: featureID, to: handler)
    }

    public nonisolated func claim(_ id: String, for type: Any.Type) throws(ConnectionError) {
        try core.claim(id, for: type)
    }
}

extension SharedState {
    /// A value that is the same on phone and watch, also while one of them has WatchConnectivitySwift 5.
    public convenience init(
        initialValue: State, connection: WatchConnection, id: String? = nil, merge: SharedStateMerge<State> = .whole,
        encoder: JSONEncoder? = nil, decoder: JSONDecoder? = nil
    ) {
        // Several connections of one session have one state of that id.
        let channel: any SessionConnection = connection.channel
        self.init(
            initialValue: initialValue, connection: channel, id: id, merge: merge, encoder: encoder,
            decoder: decoder)
        // What it is shown, the mirror shows it.
        leaveOut(CounterpartTransport.counterpart)
        // By default the counterpart has Foundation's coders, which refuse numbers that are not finite.
        connection.channel.mirror.add(self, encoder: encoder ?? JSONEncoder(), decoder: decoder ?? JSONDecoder())
    }
}
