import Foundation
import MeshBase
import MeshIdentity
import MeshLoopbackTransport
import MeshTransport
import Testing

@Suite struct LoopbackTests {
    let peer = SessionPeer(id: "phone", deviceClass: .phone, appInstanceID: "1", topology: .sameHost)
    let session = UUID()

    func envelope(_ sequence: UInt64, payload: String = "lap") throws -> AnySessionSyncEnvelope {
        try AnySessionSyncEnvelope(
            SessionSyncEnvelope(metadata: metadata(sequence), payload: payload))
    }

    func snapshot(_ revision: UInt64, state: String = "running") throws -> AnySessionSyncSnapshot {
        try AnySessionSyncSnapshot(
            SessionSyncSnapshot(
                metadata: metadata(revision), revision: revision, state: state, peerSequenceVector: ["phone": revision])
        )
    }

    func metadata(_ sequence: UInt64) -> SessionSyncMetadata {
        SessionSyncMetadata(
            sessionID: session, featureID: "workout", sourcePeerID: peer.id, sequence: sequence,
            causalTimestamp: Date(timeIntervalSince1970: 1_000), payloadType: "text")
    }

    @Test(
        "An envelope is received unchanged, in every mode but latestSnapshot",
        arguments: SessionDeliveryMode.allCases)
    func envelopesComeBack(mode: SessionDeliveryMode) async throws {
        let transport = LoopbackSessionSyncTransport(localPeer: peer)
        var envelopes = transport.receiveEnvelopes().makeAsyncIterator()
        guard mode != .latestSnapshot else {
            await #expect(throws: SessionSyncError.unsupportedDeliveryMode) {
                try await transport.send(envelope(1), mode: mode)
            }
            return
        }
        try await transport.send(envelope(1), mode: mode)
        let received = try #require(await envelopes.next())
        #expect(received.metadata == metadata(1))
        #expect(try received.decodePayload(as: String.self) == "lap")
    }

    @Test func `A snapshot is received and kept for late subscribers`() async throws {
        let transport = LoopbackSessionSyncTransport(localPeer: peer)
        #expect(transport.latestPeerSnapshot(featureID: "workout") == nil)
        try await transport.sendSnapshot(snapshot(3), mode: .latestSnapshot)
        try await transport.sendSnapshot(snapshot(2), mode: .latestSnapshot)
        #expect(transport.latestPeerSnapshot(featureID: "workout")?.revision == 3)
        var snapshots = transport.receiveSnapshots().makeAsyncIterator()
        #expect(await snapshots.next()?.revision == 3)
    }

    @Test func `A snapshot request is received with the local peer as its requester`() async throws {
        let transport = LoopbackSessionSyncTransport(localPeer: peer)
        var requests = transport.receiveSnapshotRequests().makeAsyncIterator()
        try await transport.requestSnapshot(sessionID: session)
        #expect(await requests.next() == SessionSnapshotRequest(sessionID: session, requester: peer))
    }

    @Test func `Only the local peer can be named as the receiver`() async throws {
        let transport = LoopbackSessionSyncTransport(localPeer: peer)
        let stranger = SessionPeer(id: "watch", deviceClass: .watch, appInstanceID: "1", topology: .sameHost)
        try await transport.send(envelope(1), mode: .reliableEventually, to: peer)
        await #expect(throws: SessionSyncError.unknownPeer(id: "watch")) {
            try await transport.send(envelope(1), mode: .reliableEventually, to: stranger)
        }
    }

    @Test("A budget rejects exactly the messages that exceed it", arguments: 0...40)
    func budget(length: Int) async throws {
        let limit = PayloadLimit(id: "test.limit", bytes: 20, summary: "", source: "")
        let transport = LoopbackSessionSyncTransport(
            localPeer: peer, budget: PayloadBudget(limit: limit, codec: RawTextCodec()))
        #expect(transport.capabilities.maximumPayloadSize == 20)
        let text = String(repeating: "x", count: length)
        let tooLarge = SessionSyncError.payloadTooLarge(bytes: length, limit: 20, limitID: "test.limit")
        if length <= 20 {
            try await transport.send(envelope(1, payload: text), mode: .realtimeBestEffort)
            try await transport.sendSnapshot(snapshot(1, state: text), mode: .latestSnapshot)
        } else {
            await #expect(throws: tooLarge) {
                try await transport.send(envelope(1, payload: text), mode: .realtimeBestEffort)
            }
            await #expect(throws: tooLarge) {
                try await transport.sendSnapshot(snapshot(1, state: text), mode: .latestSnapshot)
            }
        }
    }

    @Test func `Without a budget nothing is encoded`() async throws {
        let transport = LoopbackSessionSyncTransport(localPeer: peer)
        try await transport.send(
            AnySessionSyncEnvelope(SessionSyncEnvelope(metadata: metadata(1), payload: Unencodable())),
            mode: .reliableEventually)
    }

    @Test func `When a send returns, its message has arrived`() async throws {
        let transport = LoopbackSessionSyncTransport(localPeer: peer)
        for revision in 1...100 as ClosedRange<UInt64> {
            try await transport.sendSnapshot(snapshot(revision), mode: .latestSnapshot)
            #expect(transport.latestPeerSnapshot(featureID: "workout")?.revision == revision)
        }
    }

    @Test func `An event and a snapshot with one sequence are both received`() async throws {
        let transport = LoopbackSessionSyncTransport(localPeer: peer)
        var envelopes = transport.receiveEnvelopes().makeAsyncIterator()
        try await transport.sendSnapshot(snapshot(1), mode: .reliableEventually)
        try await transport.send(envelope(1), mode: .reliableEventually)
        #expect(transport.latestPeerSnapshot(featureID: "workout")?.revision == 1)
        #expect(await envelopes.next()?.metadata.sequence == 1)
    }

    @Test func `Closing ends the streams after their buffered elements, and every send throws`() async throws {
        let transport = LoopbackSessionSyncTransport(localPeer: peer)
        let envelopes = transport.receiveEnvelopes()
        let requests = transport.receiveSnapshotRequests()
        let snapshots = transport.receiveSnapshots()
        let reachability = transport.reachabilityChanges()
        try await transport.send(envelope(1), mode: .reliableEventually)
        await transport.close()
        await transport.close()

        var sequences: [UInt64] = []
        for await envelope in envelopes { sequences.append(envelope.metadata.sequence) }
        #expect(sequences == [1])
        for await request in requests { Issue.record("unexpected \(request)") }
        for await snapshot in snapshots { Issue.record("unexpected \(snapshot)") }
        for await change in reachability { Issue.record("unexpected \(change)") }
        await #expect(throws: SessionSyncError.closed) {
            try await transport.send(envelope(2), mode: .reliableEventually)
        }
        await #expect(throws: SessionSyncError.closed) {
            try await transport.sendSnapshot(snapshot(2), mode: .latestSnapshot)
        }
        await #expect(throws: SessionSyncError.closed) { try await transport.requestSnapshot(sessionID: session) }
    }
}

/// Writes a text as its bytes, so that its size is easy to predict.
private struct RawTextCodec: PayloadCodec {
    let id = PayloadCodecID(number: 200, name: "raw-text")

    func encode<Value: Encodable>(_ value: Value) throws -> [UInt8] { Array("\(value)".utf8) }

    func decode<Value: Decodable>(_ type: Value.Type, from bytes: UnsafeRawBufferPointer) throws -> Value {
        try JSONDecoder().decode(type, from: Data(bytes))
    }
}

private struct Unencodable: Codable {
    init() {}
    init(from decoder: any Decoder) throws { throw CocoaError(.coderReadCorrupt) }
    func encode(to encoder: any Encoder) throws {
        Issue.record("a loopback without a budget must not encode")
        throw CocoaError(.coderInvalidValue)
    }
}

@Suite struct LoopbackDeliveryTests {
    @Test func `A reliable send is delivered at once and isn't reported as waiting`() async throws {
        var transport: LoopbackSessionSyncTransport? = LoopbackSessionSyncTransport(
            localPeer: SessionPeer(id: "me", deviceClass: .phone, appInstanceID: "1", topology: .sameHost))
        let events = try #require(transport).delivery.diagnosticEvents()
        let envelopes = try #require(transport).receiveEnvelopes()
        for sequence in 1...3 as ClosedRange<UInt64> {
            let metadata = SessionSyncMetadata(
                sessionID: UUID(), featureID: "list", sourcePeerID: "me", sequence: sequence,
                causalTimestamp: Date(timeIntervalSince1970: 0), payloadType: "list.event")
            try await transport?.send(
                AnySessionSyncEnvelope(SessionSyncEnvelope(metadata: metadata, payload: "tap")),
                mode: .reliableEventually, to: nil)
        }
        await transport?.close()
        var sequences: [UInt64] = []
        for await envelope in envelopes { sequences.append(envelope.metadata.sequence) }
        #expect(sequences == [1, 2, 3])
        // The stream of events ends with the transport.
        transport = nil
        var stalledCount = 0
        for await event in events { if case .stalled = event { stalledCount += 1 } }
        #expect(stalledCount == 0)
    }
}
