import Foundation
import MeshIdentity
import MeshTransport
import Testing

/// The order that decides which of two snapshots of a feature an app shows, and sends.
@Suite struct SnapshotOrderTests {
    private let workout = UUID()
    private let meal = UUID()

    private func snapshot(
        of session: UUID, revision: UInt64, incarnation: UInt32 = 1, stamp: UInt64 = 0, sentAt seconds: Double = 0
    ) -> AnySessionSyncSnapshot {
        let metadata = SessionSyncMetadata(
            sessionID: session, featureID: "counter", sourcePeerID: "phone", sequence: revision,
            causalTimestamp: Date(timeIntervalSince1970: seconds), payloadType: "test",
            stamp: HybridTimestamp(milliseconds: stamp, counter: 0), incarnation: incarnation)
        return AnySessionSyncSnapshot(
            metadata: metadata, revision: revision, peerSequenceVector: [:],
            state: EncodedPayload(bytes: [], codec: NoCodec()))
    }

    /// Regression: the workout's stamps followed a peer's clock that was ahead, so no snapshot of the meal was sent.
    @Test func `stamps of two sessions aren't compared`() {
        let earlier = snapshot(of: workout, revision: 9, stamp: 732_000, sentAt: 10)
        let later = snapshot(of: meal, revision: 1, stamp: 11_000, sentAt: 11)
        #expect(later.isNewer(than: earlier) && !earlier.isNewer(than: later))
        #expect(!later.isSuperseded(by: earlier))
    }

    @Test func `a session that the app shows now is sent, whatever its clock`() {
        let earlier = snapshot(of: workout, revision: 9, sentAt: 3_600)
        #expect(!snapshot(of: meal, revision: 1, sentAt: 10).isSuperseded(by: earlier))
        #expect(!snapshot(of: meal, revision: 1, sentAt: 10).isSuperseded(by: nil))
    }

    @Test func `within a session revisions decide, and between two incarnations stamps`() {
        let kept = snapshot(of: workout, revision: 9, stamp: 5, sentAt: 10)
        #expect(snapshot(of: workout, revision: 8, stamp: 9, sentAt: 20).isSuperseded(by: kept))
        #expect(!snapshot(of: workout, revision: 10, stamp: 1, sentAt: 1).isSuperseded(by: kept))
        #expect(snapshot(of: workout, revision: 99, incarnation: 2, stamp: 4, sentAt: 20).isSuperseded(by: kept))
        #expect(!snapshot(of: workout, revision: 1, incarnation: 2, stamp: 6, sentAt: 1).isSuperseded(by: kept))
    }
}
