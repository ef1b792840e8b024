public import Foundation
import MeshBase
public import MeshConnection
public import MeshIdentity
public import MeshTransport
public import Observation

/// One value that is the same on every peer.
///
/// ```swift
/// let settings = SharedState(initialValue: Settings(), over: transport)
/// try settings.update { $0.volume = 7 }
/// ```
///
/// A change is visible here at once. It goes to every peer, directly or through others, and to peers that appear later. It
/// is sent again until each peer has confirmed it; with a store, even after a relaunch. `merge` decides between concurrent
/// changes of two peers.
///
/// With a store, the initial value is shown until the store has been read. A change made before that counts as later than the
/// store's content. All `SharedState`s of one ID on one connection are one state, with the first one's initial value, merge
/// and coders.
///
/// Belongs to the main actor, which also encodes and decodes values. A released state lives until its last change is written
/// and handed to the transport. Bounds are in Docs/Reference/Limits.md.
@MainActor @Observable @dynamicMemberLookup
public final class SharedState<State: Codable & Sendable & Equatable> {
    /// The name of the state on its connection.
    public let id: String
    @ObservationIgnored let replica: StateReplica<State>

    /// Creates a value that is shared under its ID on the connection.
    ///
    /// - Parameters:
    ///   - initialValue: shown until a peer changes the value. It counts as older than every change.
    ///   - connection: its store, if any, keeps the value, the versions of changes, and what each peer has.
    ///   - id: by default the type's name with the types it is nested in, without modules. If a state with another type has this
    ///     ID on the connection, nothing is shared, and `update` and `lastSyncError` say so.
    ///   - merge: must be the same on all peers.
    ///   - encoder: must write JSON that `decoder` reads, here and on every peer. By default NaN and infinity are strings.
    ///   - decoder: by default one that reads the default encoder's JSON.
    public init(
        initialValue: State, connection: any SessionConnection, id: String? = nil,
        merge: SharedStateMerge<State> = .whole, encoder: JSONEncoder? = nil, decoder: JSONDecoder? = nil
    ) {
        let id = id ?? TypeName.nested(State.self)
        self.id = id
        replica = StateRegistry.replica(StateArchive.featureID(id), on: connection) { featureID in
            StateReplica(
                initialValue: initialValue, connection: connection, featureID: featureID, merge: merge,
                encoder: encoder, decoder: decoder)
        }
    }

    /// The value as this peer sees it. Observable. Change it with `update`.
    public var value: State { replica.value }

    /// The present problems of the connection, then those of this state. Observable. Docs/Guides/SharedState.md lists the codes.
    public var problems: [SessionProblem] { replica.connection.problems + replica.board.problems }

    /// The error that keeps this value from being synced; nil once it is. A value that can't be sent now is sent later.
    ///
    /// A `ConnectionError`: `idInUse` while something else on this connection uses the ID; `incompatiblePeer` while a peer has
    /// another version or merge; `payloadTooLarge` and others from sending. A `StorageError` while the store can't be read or
    /// written: changes are sent, but a relaunch may lose them. A `DecodingError` while the newest value, or a value to be
    /// merged, can't be decoded.
    public var lastSyncError: (any Error)? { replica.errors.first }

    /// True if every known peer has confirmed this value. False while a change has reached no peer, and while a peer differs in
    /// `merge`, `id:` or session.
    public var isSynced: Bool { replica.isSynced }

    /// The IDs of peers that haven't confirmed this value, in ascending order.
    public var pendingPeerIDs: [String] { replica.pendingPeerIDs }

    /// Concurrent changes, in the order of detection: the newest 32 of this launch. Both devices that made the changes list them.
    /// If several changes arrive together, only the last one is listed.
    public var conflicts: [SharedStateConflict] { replica.conflicts }

    /// Changes the value here at once, and on every peer as soon as it is reachable. An equal value changes nothing.
    ///
    /// The value is encoded, and the value decoded from these bytes is shown. Fields that this type doesn't know stay.
    ///
    /// - Parameter urgency: `wake` also wakes a suspended watch app, within the daily budget (the transport's
    ///   `remainingWakes`).
    /// - Throws: errors of the encoder and decoder; `ConnectionError.idInUse`; `ConnectionError.payloadTooLarge` with the limit
    ///   `state.fields` for more than 4,096 fields. The value is then unchanged.
    public func update(_ newValue: State, urgency: SessionUrgency = .normal) throws {
        try replica.update(newValue, urgency)
        replica.board.solve(.writeFailed)
    }

    /// Adopts values without versions, such as those that WatchConnectivitySwift 5 has left in an application context.
    /// They count as older than every change, and their order is unknown. The last one becomes the value. The others
    /// are listed in `conflicts`, or combined with it by the app's own merge.
    package func adopt(unversioned values: [State]) { replica.adopt(unversioned: values) }

    /// Notes the error that keeps the value from a device that reads only application contexts; nil once it has the value.
    package func noteContext(_ error: (any Error)?) {
        if error != nil || replica.errors.context != nil { replica.errors.context = error }
    }

    /// True once the value is that of the store. True at once without a store. Observable.
    package var isLoaded: Bool { replica.isLoaded || replica.errors.refusal != nil }

    /// True while a relaunch restores the value from the store. True without a store. Observable.
    package var isStored: Bool { replica.isStored }

    /// Excludes a known peer of the transport that doesn't use shared states: nothing is sent to it, and `isSynced` ignores it.
    package func exclude(_ peer: SessionPeer) { replica.exclude(peer.id) }

    /// Forgets a peer that won't come back. If it returns, it is treated as new and gets everything.
    public func forget(_ peer: SessionPeer) { replica.forget(peer.id) }
}

/// A replica without its type of value, for the registry.
@MainActor
protocol RegisteredReplica: AnyObject {
    var featureID: String { get }
    var connection: any SessionConnection { get }
    /// Notes that this process has created a state with this ID and session.
    func appeared(_ featureID: String, _ sessionID: UUID)
}

extension StateReplica: RegisteredReplica {}

/// All replicas in use.
@MainActor
enum StateRegistry {
    private struct Key: Hashable {
        let connection: ObjectIdentifier
        let featureID: String
    }

    private struct Weak {
        weak var replica: (any RegisteredReplica)?
    }

    private static var replicas: [Key: Weak] = [:]

    /// Returns the existing replica or a new one. A replica retains its connection, so no other connection can get its identity.
    static func replica<State>(
        _ featureID: String, on connection: any SessionConnection, make: (String) -> StateReplica<State>
    ) -> StateReplica<State> {
        let key = Key(connection: ObjectIdentifier(connection.root), featureID: featureID)
        if let replica = replicas[key]?.replica as? StateReplica<State> { return replica }
        let replica = make(featureID)
        guard replica.errors.refusal == nil else { return replica }
        replicas = replicas.filter { $0.value.replica != nil }
        for (other, weak) in replicas where other.connection == key.connection {
            weak.replica?.appeared(featureID, connection.sessionID)
        }
        replicas[key] = Weak(replica: replica)
        return replica
    }

    /// Indicates whether a connection over the same transport has such a state.
    static func has(_ featureID: String, _ sessionID: UUID, near replica: some RegisteredReplica) -> Bool {
        let (root, transport) = (replica.connection.root, replica.connection.transport as AnyObject)
        return replicas.values.contains { weak in
            guard let other = weak.replica, other.featureID == featureID, other.connection.sessionID == sessionID
            else { return false }
            return other.connection.root === root || other.connection.transport as AnyObject === transport
        }
    }
}
