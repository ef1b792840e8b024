import Foundation
import MeshEngine

// Two engines, no transport: what one submits, the other receives.

struct CountingReducer: SessionSyncReducer {
    func reduce(state: inout Int, event: Int, context: SessionEventContext) { state += event }
}

func makeEngine(_ peer: String, session: UUID) -> SessionSyncEngine<
    Int, Int, CountingReducer, AcceptingConflictPolicy<Int, Int>
> {
    SessionSyncEngine(
        sessionID: session, featureID: "count", localPeerID: peer, payloadType: "count.event",
        snapshotPayloadType: "count.state", initialState: 0, reducer: CountingReducer(),
        conflictPolicy: AcceptingConflictPolicy())
}

let session = UUID()
var phone = makeEngine("phone", session: session)
var watch = makeEngine("watch", session: session)
for number in 1...10 {
    let envelope = try phone.submitLocal(number, at: Date())
    guard case .applied = try watch.receive(envelope), case .duplicate = try watch.receive(envelope) else {
        fatalError("event \(number) was not applied once")
    }
}
print("phone \(phone.state), watch \(watch.state)")
exit(phone.state == 55 && watch.state == 55 ? EXIT_SUCCESS : EXIT_FAILURE)
