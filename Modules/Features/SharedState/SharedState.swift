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
/// A change is shown here at once and goes to every peer, also to one that comes later, and through peers to others.
/// It is sent again until each peer has said that it has it; with a store on the connection also after a relaunch.
/// `merge` chooses what becomes of changes that are made at the same time on two peers.
///
/// With a store the value shown is the initial one until the store has been read; a change made before that is kept and
/// counts as later than what is in it. All `SharedState`s of one id on one connection are one: the first one's initial
/// value, merge and coders are used.
///
/// Lives on the main actor, where values are also encoded and decoded. Nothing it starts keeps it alive, but for what
/// it takes to write down and to hand over the last change. Bounds are in Docs/Reference/Limits.md.
@MainActor @Observable @dynamicMemberLookup
public final class SharedState<State: Codable & Sendable & Equatable> {
    /// Names the state on its connection.
    public let id: String
    @ObservationIgnored let replica: StateReplica<State>

    /// Creates a value that is shared under its ID on the connection.
    ///
    /// - Parameters:
    ///   - initialValue: shown until a peer changes the value; older than every change.
    ///   - connection: its store, if any, keeps the value, what changed when, and how far each peer is.
    ///   - id: by default the type's name with the types it is nested in, without modules. When a value of another type
    ///     has it on this connection, `update` and `lastSyncError` say so, and nothing is shared.
    ///   - merge: the same on all peers.
    ///   - encoder: must write an object or another JSON value that `decoder` reads, here and on every peer. By default
    ///     JSON with NaN and infinity as strings.
    ///   - decoder: reads it. By default one for the default encoder.
    public init(
        initialValue: State, connection: any SessionConnection, id: String? = nil,
        merge: SharedStateMerge<State> = .whole, encoder: JSONEncoder? = nil, decoder: JSONDecoder? = nil
    ) {
        let id = id ?? TypeName.nested(State.self)
        self.id = id
        replica = StateRegistry.replica("sessionmesh.state/\(id)", on: connection) { featureID in
            StateReplica(
                initialValue: initialValue, connection: connection, featureID: featureID, merge: merge,
                encoder: encoder, decoder: decoder)
        }
    }

    /// The value as this peer sees it now. Observable; set it by `update`.
    public var value: State { replica.value }

    /// The connection's problems, then those of this state, until they are solved. Observable. See Docs/Guides/SharedState.md for the codes.
    public var problems: [SessionProblem] { replica.connection.problems + replica.board.problems }

    /// Why something has not been synced; nil once it has. What could not be sent is sent later all the same.
    ///
    /// A `ConnectionError`: `idInUse` for good; `incompatiblePeer` while a peer speaks a newer version or merges by
    /// another rule; `payloadTooLarge` and others from sending. A `StorageError` while the store cannot be read or
    /// written: then changes travel and a relaunch may lose them. A `DecodingError` while the newest value, or one that
    /// is to be merged, cannot be read.
    public var lastSyncError: (any Error)? { replica.errors.first }

    /// Every peer that was ever met has said that it has this value. False while no peer has been told of a change, and while a
    /// peer differs in `merge`, `id:` or session.
    public var isSynced: Bool { replica.isSynced }

    /// The peers that have not, in ascending order.
    public var pendingPeerIDs: [String] { replica.pendingPeerIDs }

    /// Changes that were made at the same time as others, in the order in which they were found; the newest 32 since
    /// this process began. The devices that made them both list them: of several changes that arrive as one, the last counts.
    public var conflicts: [SharedStateConflict] { replica.conflicts }

    /// Changes the value here and, as soon as they can be reached, on every peer. An equal value changes nothing.
    ///
    /// The value is shown as it is read back from its bytes. Fields that this type neither reads nor writes stay.
    /// - Throws: what the encoder throws, or the decoder; `ConnectionError.idInUse`; `ConnectionError.payloadTooLarge` with
    ///   the limit `state.fields` for more than 4,096 fields. The value is then unchanged.
    public func update(_ newValue: State) throws {
        try replica.update(newValue)
        replica.board.solve(.writeFailed)
    }

    /// Takes values that were set before there were versions: older than every change, whoever makes it. Of several nobody
    /// knows the order: the last stands, and the others are told in `conflicts`, or merged by the app's own merge.
    package func adopt(undated values: [State]) { replica.adopt(undated: values) }

    /// Why a counterpart that reads application contexts only has not been shown the value; nil once it has.
    package func noteContext(_ error: (any Error)?) {
        if error != nil || replica.errors.context != nil { replica.errors.context = error }
    }

    /// A peer of the transport's that takes no part in shared states as they are here: it is told nothing, and nobody
    /// waits for it.
    package func leaveOut(_ peer: SessionPeer) { replica.leaveOut(peer.id) }

    /// Waits no more for a peer that will not come back. If it does, it gets everything.
    public func forget(_ peer: SessionPeer) { replica.forget(peer.id) }
}

/// A replica of any type of values, for the registry.
@MainActor
protocol RegisteredReplica: AnyObject {
    var featureID: String { get }
    var connection: any SessionConnection { get }
    /// A state has been made on a connection of this process.
    func appeared(_ featureID: String, _ sessionID: UUID)
}

extension StateReplica: RegisteredReplica {}

/// The replicas that are in use.
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

    /// The one that is there, or a new one. A replica keeps its connection, so no other can have the same identity.
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

    /// Whether a connection over the same transport has such a state.
    static func has(_ featureID: String, _ sessionID: UUID, near replica: some RegisteredReplica) -> Bool {
        let (root, transport) = (replica.connection.root, replica.connection.transport as AnyObject)
        return replicas.values.contains { weak in
            guard let other = weak.replica, other.featureID == featureID, other.connection.sessionID == sessionID
            else { return false }
            return other.connection.root === root || other.connection.transport as AnyObject === transport
        }
    }
}
