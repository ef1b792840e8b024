public import Foundation
import MeshBase
public import MeshConnection
import MeshIdentity
public import MeshSharedState
import MeshStorage
import MeshTransport

// What shared states, and features of the app's own, need of a connection.
extension WatchConnection: ConnectionWrapper {
    /// The connection that all `WatchConnection`s of one session share.
    public nonisolated var wrapped: any SessionConnection { core }
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
