import Foundation
import MeshIdentity

@testable import MeshEngine

/// A list that each event appends to, so that the order of events shows.
struct ListReducer: SessionSyncReducer {
    struct Refusal: Error {}

    func reduce(state: inout [String], event: String, context: SessionEventContext) throws {
        if event == "poison" { throw Refusal() }
        state.append(event)
    }
}

/// Rejects an event that equals the last element of the list.
struct NoRepeatPolicy: SessionConflictPolicy {
    func shouldApply(event: String, context: SessionConflictContext<[String]>) -> Bool {
        context.state.last != event
    }
}

typealias ListEngine = SessionSyncEngine<[String], String, ListReducer, NoRepeatPolicy>

let session = UUID(uuid: (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16))
let noon = Date(timeIntervalSince1970: 1_700_000_000)

func makeEngine(
    _ peer: String, incarnation: UInt32 = 0, session: UUID = session, catchesUpLater: Bool = false,
    ownUnconfirmedMax: Int = 4_096
) -> ListEngine {
    var options = SessionEngineOptions<[String], String>()
    options.catchesUpLater = catchesUpLater
    options.ownUnconfirmedMax = ownUnconfirmedMax
    return ListEngine(
        sessionID: session, featureID: "list", localPeerID: peer, payloadType: "list.event",
        snapshotPayloadType: "list.state", initialState: [], reducer: ListReducer(), conflictPolicy: NoRepeatPolicy(),
        incarnation: incarnation, options: options)
}

/// A snapshot as adapters for the reference library build it manually.
func handMadeSnapshot(
    _ engine: inout ListEngine, listsItself: Bool = true, namesLives: Bool = true, at moment: Date = noon
) -> SessionSyncSnapshot<[String]> {
    var vector = engine.store.lastSequenceByPeerID
    if !listsItself { vector[engine.localPeerID] = nil }
    if !namesLives { vector = vector.filter { $0.value > 0 } }
    return SessionSyncSnapshot(
        metadata: SessionSyncMetadata(
            sessionID: engine.sessionID, featureID: "list", sourcePeerID: engine.localPeerID,
            sequence: engine.store.nextLocalSequence, causalTimestamp: moment, payloadType: "list.state"),
        revision: engine.allocateOutgoingSnapshotRevision(), state: engine.state, peerSequenceVector: vector)
}
