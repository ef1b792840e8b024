import Foundation
import MeshBase
import MeshIdentity
import MeshLoopbackTransport
import MeshTransport
import MeshWire
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

    @Test func `all traffic is recorded and forwarded`() async throws {
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

    @Test func `Envelopes that arrive before there is a subscriber wait for it`() async throws {
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
        // The subscriber's buffer is full, so the sender waits.
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

    @Test func `An envelope that several subscribers take is recorded once`() async throws {
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

    private struct Pulse: Codable, Sendable { var rate: Int }

    private enum Tap: Codable, Sendable {
        case beat(Pulse)
        case lap(Int)
    }

    private func envelope(_ tap: Tap, _ sequence: UInt64, asBytes: Bool) throws -> AnySessionSyncEnvelope {
        let metadata = SessionSyncMetadata(
            sessionID: UUID(), featureID: "list", sourcePeerID: "me", sequence: sequence, causalTimestamp: moment,
            payloadType: "list.event")
        guard asBytes else { return try AnySessionSyncEnvelope(SessionSyncEnvelope(metadata: metadata, payload: tap)) }
        let codec = CompactCodec()
        return AnySessionSyncEnvelope(
            metadata: metadata, payload: EncodedPayload(bytes: try codec.encode(tap), codec: codec))
    }

    @Test(arguments: [false, true])
    func `payloads are recorded once their type is named, without values of redacted types`(asBytes: Bool) async throws
    {
        let recorder = DiagnosticsSession(wrapping: LoopbackSessionSyncTransport(localPeer: peer))
        var received = recorder.receiveEnvelopes().makeAsyncIterator()
        try await recorder.send(envelope(.lap(1), 1, asBytes: asBytes), mode: .reliableEventually, to: nil)
        _ = await received.next()
        #expect(recorder.recording.entries.allSatisfy { $0.event == nil })

        recorder.recordPayloads(of: Tap.self, featureID: "list", redacting: [Pulse.self])
        recorder.recordPayloads(of: Pulse.self, featureID: "list", payloadType: "list.state", redacting: [Pulse.self])
        let taps = [Tap.lap(3), .beat(Pulse(rate: 187_187))]
        let envelopes = try taps.enumerated().map { try envelope($1, UInt64($0 + 2), asBytes: asBytes) }
        try await recorder.send(envelopes, mode: .reliableEventually, to: nil)
        for _ in envelopes { _ = await received.next() }
        var metadata = envelopes[0].metadata
        metadata.payloadType = "list.state"
        let snapshot = SessionSyncSnapshot(
            metadata: metadata, revision: 1, state: Pulse(rate: 187_187), peerSequenceVector: [:])
        try await recorder.sendSnapshot(AnySessionSyncSnapshot(snapshot), mode: .latestSnapshot, to: nil)
        await recorder.close()
        await #expect(throws: SessionSyncError.closed) {
            try await recorder.send(
                envelope(.beat(Pulse(rate: 187_187)), 4, asBytes: asBytes), mode: .realtimeBestEffort, to: nil)
        }

        let entries = recorder.recording.entries
        func events(_ step: DiagnosticsEntry.Step) -> [String] {
            entries.filter { $0.kind == .envelope && $0.step == step }.compactMap(\.event)
        }
        let texts = [#"{"lap":{"_0":3}}"#, #"{"beat":{"_0":"(redacted)"}}"#]
        #expect(events(.sent) == texts)
        #expect(events(.received) == texts)
        #expect(events(.failed) == [texts[1]])
        #expect(entries.first { $0.kind == .snapshot }?.state == "\"(redacted)\"")
        #expect(!String(decoding: recorder.recording.jsonLines, as: UTF8.self).contains("187187"))
    }

    @Test func `bytes that are no payload of the type have no text`() async throws {
        let recorder = DiagnosticsSession(wrapping: LoopbackSessionSyncTransport(localPeer: peer))
        recorder.recordPayloads(of: Tap.self, featureID: "list")
        var received = recorder.receiveEnvelopes().makeAsyncIterator()
        let metadata = try envelope(1).metadata
        let garbage = EncodedPayload(bytes: [0xFF, 0xFF, 0xFF], codec: CompactCodec())
        try await recorder.send(
            AnySessionSyncEnvelope(metadata: metadata, payload: garbage), mode: .reliableEventually, to: nil)
        _ = await received.next()
        #expect(recorder.recording.entries.count == 2)
        #expect(recorder.recording.entries.allSatisfy { $0.event == nil })
        await recorder.close()
    }

    @Test func `closing ends the streams`() async throws {
        let recorder = DiagnosticsSession(wrapping: LoopbackSessionSyncTransport(localPeer: peer))
        let streams = recorder.receiveEnvelopes()
        await recorder.close()
        for await _ in streams { Issue.record("nothing was sent") }
    }

    @Test func `A withdrawal reaches the wrapped transport`() throws {
        let wrapped = Withdrawing(localPeer: peer)
        let recorder = DiagnosticsSession(wrapping: wrapped)
        let id = UUID()
        #expect(recorder.cancel(eventID: id, featureID: "list"))
        #expect(wrapped.withdrawn.withLock { $0 } == [id])
    }

    @Test func `the wrapped transport admits guests`() throws {
        let wrapped = Withdrawing(localPeer: peer)
        let recorder = DiagnosticsSession(wrapping: wrapped)
        let id = UUID()
        recorder.admitGuests(["watch"], toSession: id, featureID: "list")
        #expect(wrapped.admitted.withLock { $0 } == [[id.uuidString, "list", "watch"]])
    }
}

/// Carries nothing, and records withdrawals and admitted guests.
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
