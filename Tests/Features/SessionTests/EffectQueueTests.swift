import Foundation
import MeshIdentity
import Testing

@testable import MeshEngine
@testable import MeshSession

/// The events whose side effects ran, by ID.
struct EffectQueueTests {
    private func event(
        _ amount: Int, at position: UInt64, id: UUID, outcome: SessionEventOutcome = .applied
    ) -> SessionConfirmedEvent<Tap> {
        let metadata = SessionSyncMetadata(
            sessionID: sessionID, featureID: "counter", sourcePeerID: "watch", eventID: id, sequence: position + 1,
            causalTimestamp: Date(timeIntervalSince1970: 0), payloadType: "tap")
        return SessionConfirmedEvent(
            position: position, envelope: SessionSyncEnvelope(metadata: metadata, payload: .add(amount)),
            outcome: outcome)
    }

    @Test func `An event whose ID a lying member has borrowed still runs its effect`() {
        var queue = EffectQueue<Tap>()
        let id = UUID()
        queue.append(event(1, at: 0, id: id))
        queue.append(event(2, at: 1, id: id))
        _ = queue.finishNext()
        #expect(queue.next.map(queue.hasRun) == false)
    }

    @Test func `A copy of an event, and an event that another history confirms again, run no effect`() {
        var queue = EffectQueue<Tap>()
        let (first, second) = (UUID(), UUID())
        queue.append(event(1, at: 0, id: first))
        queue.append(event(1, at: 1, id: first, outcome: .repeated))
        _ = queue.finishNext()
        #expect(queue.next.map(queue.hasRun) == true)
        _ = queue.finishNext()
        queue.beginHistory()
        queue.append(event(1, at: 0, id: first))
        queue.append(event(3, at: 1, id: second))
        #expect(queue.next.map(queue.hasRun) == true)
        _ = queue.finishNext()
        #expect(queue.next.map(queue.hasRun) == false)
    }
}
