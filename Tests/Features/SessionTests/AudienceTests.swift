import Foundation
import MeshEngine
import MeshIdentity
import MeshScenarioTransport
import MeshSession
import MeshTestSupport
import MeshTransport
import Testing

/// A peer that is trusted on the network isn't a member for that reason.
@MainActor @Suite struct AudienceTests {
    /// Counts the events and states that reach a paired tablet. It isn't a member, and requests everything.
    private func whatATabletHears(
        _ audience: SessionAudience
    ) async throws -> (events: Int, states: Int, session: CounterSession) {
        let world = VirtualWorld(seed: 3)
        let members = [SessionSource(peerID: "phone", incarnation: 1), SessionSource(peerID: "watch", incarnation: 2)]
        let outsider = world.transport(tablet)
        var events = 0
        var states = 0
        let envelopes = outsider.receiveEnvelopes()
        let snapshots = outsider.receiveSnapshots()
        let listeners = [
            Task { @MainActor in
                for await envelope in envelopes where envelope.metadata.payloadType == "counter.event" {
                    _ = envelope
                    events += 1
                }
            },
            Task { @MainActor in
                for await snapshot in snapshots where snapshot.metadata.featureID == "counter" {
                    _ = snapshot
                    states += 1
                }
            },
        ]
        defer { for listener in listeners { listener.cancel() } }
        let sessions = [(phone, UInt32(1)), (watch, 2)].map { peer, incarnation in
            world.session(world.transport(peer), incarnation: incarnation) {
                $0.members = members
                $0.audience = audience
            }
        }
        for session in sessions { session.start() }
        await world.meet()
        for amount in 1...5 {
            try sessions[0].submit(.add(amount))
            try sessions[1].submit(.add(amount * 10))
            try await outsider.requestSnapshot(sessionID: sessionID, from: nil)
            await world.run(.seconds(1))
        }
        // The newest state may be kept for later peers.
        let late = world.transport(
            SessionPeer(id: "desktop", deviceClass: .desktop, appInstanceID: "desktop.1", topology: .pairedCompanion))
        await world.settle()
        if late.latestPeerSnapshot(featureID: "counter") != nil { states += 1 }
        #expect(sessions.allSatisfy { $0.state.total == 165 })
        return (events, states, sessions[0])
    }

    @Test func `A paired nonmember gets neither events nor state`() async throws {
        let heard = try await whatATabletHears(.members)
        #expect(heard.events == 0)
        #expect(heard.states == 0)
        #expect(heard.session.statistics.rejected > 0, "it has asked")
    }

    @Test func `A feature may let every paired peer watch`() async throws {
        let heard = try await whatATabletHears(.everyPeer)
        #expect(heard.events >= 10)
        #expect(heard.states > 0)
    }

    @Test func `A number out of range is reported once, and the session continues`() async throws {
        let world = VirtualWorld(seed: 4)
        let session = world.session(world.transport(phone)) {
            $0.members = [
                SessionSource(peerID: "phone", incarnation: 1), SessionSource(peerID: "watch", incarnation: 2),
            ]
        }
        let liar = world.transport(watch)
        session.start()
        var alarms: [SessionAlarm] = []
        let stream = session.alarms()
        let listener = Task { @MainActor in for await alarm in stream { alarms.append(alarm) } }
        await world.meet()
        for held in [.max, .max - 1, 1 << 63] as [UInt64] {
            let control = SessionControl(
                held: SequenceVector([
                    SourceSequence(source: SessionSource(peerID: "watch", incarnation: 2), sequence: held)
                ]))
            let metadata = SessionSyncMetadata(
                sessionID: sessionID, featureID: "counter", sourcePeerID: "watch", sequence: 0,
                causalTimestamp: world.now, payloadType: SessionControl.payloadType, incarnation: 2)
            try await liar.send(
                AnySessionSyncEnvelope(SessionSyncEnvelope(metadata: metadata, payload: control)),
                mode: .acknowledgement, to: nil)
            await world.run(.seconds(1))
        }
        try session.submit(.add(1))
        await world.settle()
        #expect(alarms == [.outOfRange(peerID: "watch", field: "held")])
        #expect(session.statistics.rejected == 3)
        #expect(session.state.total == 1)
        listener.cancel()
    }
}
