public import Foundation
import MeshBase
public import MeshConnection
import MeshIdentity
public import MeshSharedState
import MeshStorage
import MeshTransport

// Shared states and the app's own features use the connection through this conformance.
extension WatchConnection: ConnectionWrapper {
    /// The connection that all `WatchConnection`s of one session share.
    public nonisolated var wrapped: any SessionConnection { core }
}

extension SharedState {
    /// Creates a value that is synchronized between phone and watch, even if one of them runs WatchConnectivitySwift 5.
    public convenience init(
        initialValue: State, connection: WatchConnection, id: String? = nil, merge: SharedStateMerge<State> = .whole,
        encoder: JSONEncoder? = nil, decoder: JSONDecoder? = nil
    ) {
        // All connections of one session must share one state of that ID.
        let channel: any SessionConnection = connection.channel
        self.init(
            initialValue: initialValue, connection: channel, id: id, merge: merge, encoder: encoder,
            decoder: decoder)
        // The mirror sends values to this counterpart, so the state itself must not.
        exclude(CounterpartTransport.counterpart)
        // WatchConnectivitySwift 5 uses Foundation's coders by default, which reject non-finite numbers.
        connection.channel.mirror.add(self, encoder: encoder ?? JSONEncoder(), decoder: decoder ?? JSONDecoder())
    }
}
