import Foundation
import MeshBase
import MeshIdentity
import MeshLoopbackTransport
import MeshTransport
import Testing

@testable import MeshDiagnostics

@Suite struct DiagnosticsSessionTests {
    let peer = SessionPeer(id: "me", deviceClass: .desktop, appInstanceID: "1", topology: .sameHost)
    let moment = Date(timeIntervalSince1970: 1_700_000_000)

    private func envelope(_ sequence: UInt64) throws -> AnySessionSyncEnvelope {
        try AnySessionSyncEnvelope(
            SessionSyncEnvelope(
                metadata: SessionSyncMetadata(
                    sessionID: UUID(), featureID: "list", sourcePeerID: "me", sequence: sequence,
                    causalTimestamp: moment, payloadType: "list.event"),
                payload: "event \(sequence)"))
    }

    @Test func `everything that passes is recorded and passes`() async throws {
        let recorder = DiagnosticsSession(
            wrapping: LoopbackSessionSyncTransport(localPeer: peer), now: { [moment] in moment })
        var envelopes = recorder.receiveEnvelopes().makeAsyncIterator()
        var snapshots = recorder.receiveSnapshots().makeAsyncIterator()
        var requests = recorder.receiveSnapshotRequests().makeAsyncIterator()
        try await recorder.send(envelope(1), mode: .reliableEventually, to: nil)
        let session = UUID()
        let snapshot = SessionSyncSnapshot(
            metadata: try envelope(2).metadata, revision: 4, state: ["a"], peerSequenceVector: ["me": 1])
        try await recorder.sendSnapshot(AnySessionSyncSnapshot(snapshot), mode: .latestSnapshot, to: nil)
        try await recorder.requestSnapshot(sessionID: session, from: nil)
        #expect(try await envelopes.next()?.decodePayload(as: String.self) == "event 1")
        #expect(await snapshots.next()?.revision == 4)
        #expect(await requests.next()?.sessionID == session)
        #expect(recorder.latestPeerSnapshot(featureID: "list")?.revision == 4)
        await recorder.close()

        let texts = Set(recorder.records.map { "\($0.event)" })
        #expect(texts.contains("sent list me#1 list.event reliableEventually to all"))
        #expect(texts.contains("received list me#1 list.event"))
        #expect(texts.contains("sent snapshot 4 of list latestSnapshot to all"))
        #expect(texts.contains("received snapshot 4 of list from me"))
        #expect(texts.contains("asked all for a snapshot"))
        #expect(texts.contains("me asks for a snapshot"))
        #expect(recorder.records.allSatisfy { $0.at == moment })
    }

    @Test func `what arrives before there is a subscriber waits for it`() async throws {
        let recorder = DiagnosticsSession(wrapping: LoopbackSessionSyncTransport(localPeer: peer))
        for sequence in 1...5 as ClosedRange<UInt64> {
            try await recorder.send(envelope(sequence), mode: .reliableEventually, to: nil)
        }
        var received: [UInt64] = []
        for await envelope in recorder.receiveEnvelopes().prefix(5) { received.append(envelope.metadata.sequence) }
        #expect(received == [1, 2, 3, 4, 5])
    }

    @Test func `a subscriber that reads late has lost nothing`() async throws {
        let recorder = DiagnosticsSession(wrapping: LoopbackSessionSyncTransport(localPeer: peer))
        let stream = recorder.receiveEnvelopes()
        let sequences = 1...10_000 as ClosedRange<UInt64>
        let sending = Task {
            for sequence in sequences {
                try await recorder.send(envelope(sequence), mode: .reliableEventually, to: nil)
            }
        }
        // The subscriber's buffer is full: the sender waits.
        var last: UInt64 = 0
        while recorder.recordedCount == 0 || recorder.recordedCount != last {
            last = recorder.recordedCount
            for _ in 0..<1000 { await Task.yield() }
        }
        #expect(last < 10_000)
        var received: [UInt64] = []
        for await envelope in stream.prefix(10_000) { received.append(envelope.metadata.sequence) }
        #expect(received == Array(sequences))
        try await sending.value
        await recorder.close()
    }

    @Test func `what several subscribers take is recorded once`() async throws {
        let recorder = DiagnosticsSession(wrapping: LoopbackSessionSyncTransport(localPeer: peer))
        var one = recorder.receiveEnvelopes().makeAsyncIterator()
        let batches = recorder.envelopeBatches { $0.featureID == "list" }
        let turns = recorder.envelopeBatches { _ in true }
        let envelopes = try (1...3).map { try envelope($0) }
        try await recorder.send(envelopes, mode: .reliableEventually, to: nil)
        for _ in envelopes { _ = await one.next() }
        #expect(await batches.next()?.count == 3)
        #expect(await turns.next()?.count == 3)
        let received = recorder.records.count { if case .envelopeReceived = $0.event { true } else { false } }
        let sent = recorder.records.count { if case .envelopeSent = $0.event { true } else { false } }
        #expect((sent, received) == (3, 3))
        await recorder.close()
    }

    @Test func `a send that fails is recorded and still fails`() async throws {
        let recorder = DiagnosticsSession(wrapping: LoopbackSessionSyncTransport(localPeer: peer))
        await recorder.close()
        await #expect(throws: SessionSyncError.closed) {
            try await recorder.send(envelope(1), mode: .realtimeBestEffort, to: nil)
        }
        let last = try #require(recorder.records.last)
        guard case .sendFailed(let metadata, .realtimeBestEffort, _) = last.event else {
            Issue.record("recorded \(last.event)")
            return
        }
        #expect(metadata?.sequence == 1)
    }

    @Test func `only the newest records are kept, and all are counted`() async throws {
        let recorder = DiagnosticsSession(wrapping: LoopbackSessionSyncTransport(localPeer: peer), recordLimit: 5)
        await recorder.close()
        for sequence in 1...23 as ClosedRange<UInt64> {
            try? await recorder.send(envelope(sequence), mode: .realtimeBestEffort, to: nil)
        }
        #expect(recorder.recordedCount >= 23)
        #expect(recorder.records.count == 5)
        #expect(recorder.records.map(\.number) == Array((recorder.recordedCount - 4)...recorder.recordedCount))
    }

    @Test func `closing ends the streams`() async throws {
        let recorder = DiagnosticsSession(wrapping: LoopbackSessionSyncTransport(localPeer: peer))
        let streams = recorder.receiveEnvelopes()
        await recorder.close()
        for await _ in streams { Issue.record("nothing was sent") }
    }

    @Test func `what is withdrawn is withdrawn from the wrapped transport`() throws {
        let wrapped = Withdrawing(localPeer: peer)
        let recorder = DiagnosticsSession(wrapping: wrapped)
        let id = UUID()
        #expect(recorder.cancel(eventID: id, featureID: "list"))
        #expect(wrapped.withdrawn.withLock { $0 } == [id])
    }

    @Test func `guests are let in by the wrapped transport`() throws {
        let wrapped = Withdrawing(localPeer: peer)
        let recorder = DiagnosticsSession(wrapping: wrapped)
        let id = UUID()
        recorder.admitGuests(["watch"], toSession: id, featureID: "list")
        #expect(wrapped.admitted.withLock { $0 } == [[id.uuidString, "list", "watch"]])
    }
}

/// Carries nothing and notes what it is to withdraw, and whom to let in.
private final class Withdrawing: SessionSyncTransport {
    let localPeer: SessionPeer
    let withdrawn = Locked<[UUID]>([])
    let admitted = Locked<[[String]]>([])
    private let inbox = TransportInbox()

    init(localPeer: SessionPeer) { self.localPeer = localPeer }

    var knownPeers: [SessionPeer] { [] }
    var capabilities: SessionTransportCapabilities {
        SessionTransportCapabilities(
            supportsRealtime: false, supportsDurableQueue: true, supportsLatestStateReplacement: true,
            supportsRequestReply: false, supportsBroadcast: true, supportsPeerDiscovery: false, maximumPayloadSize: nil,
            expectedLatency: .eventual)
    }
    func send(_ envelope: AnySessionSyncEnvelope, mode: SessionDeliveryMode, to peer: SessionPeer?) async throws {}
    func sendSnapshot(
        _ snapshot: AnySessionSyncSnapshot, mode: SessionDeliveryMode, to peer: SessionPeer?
    ) async throws {}
    func requestSnapshot(sessionID: UUID, from peer: SessionPeer?) async throws {}
    func cancel(eventID: UUID, featureID: String) -> Bool {
        withdrawn.withLock { $0.append(eventID) }
        return true
    }
    func admitGuests(_ peerIDs: Set<String>, toSession sessionID: UUID, featureID: String) {
        admitted.withLock { $0.append([sessionID.uuidString, featureID] + peerIDs.sorted()) }
    }
    func receiveEnvelopes() -> AsyncStream<AnySessionSyncEnvelope> { inbox.receiveEnvelopes() }
    func receiveSnapshots() -> AsyncStream<AnySessionSyncSnapshot> { inbox.receiveSnapshots() }
    func receiveSnapshotRequests() -> AsyncStream<SessionSnapshotRequest> { inbox.receiveSnapshotRequests() }
    func reachabilityChanges() -> AsyncStream<SessionPeerReachability> { inbox.reachabilityChanges() }
}
