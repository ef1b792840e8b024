import Foundation
import MeshBase
import MeshIdentity
import MeshTransport
import Testing

@Suite struct ContractTests {
    @Test("A budget counts the payload and a snapshot's checkpoint", arguments: 0...6, [nil, 0, 3] as [Int?])
    func budget(payload: Int, checkpoint: Int?) throws {
        let limit = PayloadLimit(id: "test.limit", bytes: 5, summary: "", source: "")
        let budget = PayloadBudget(limit: limit, codec: FixedCodec(size: payload))
        let metadata = TransportInboxTests.metadata(1)
        let envelope = try AnySessionSyncEnvelope(SessionSyncEnvelope(metadata: metadata, payload: 0))
        var snapshot = try TransportInboxTests.snapshot(1, metadata)
        snapshot.checkpoint = checkpoint.map { [UInt8](repeating: 0, count: $0) }
        func expected(_ bytes: Int) -> SessionSyncError? {
            bytes > 5 ? .payloadTooLarge(bytes: bytes, limit: 5, limitID: "test.limit") : nil
        }
        func thrown(_ body: () throws -> Void) -> SessionSyncError? {
            do {
                try body()
                return nil
            } catch { return error as? SessionSyncError }
        }
        #expect(thrown { try budget.check(envelope) } == expected(payload))
        #expect(thrown { try budget.check(snapshot) } == expected(payload + (checkpoint ?? 0)))
    }

    @Test func `The short forms send to all peers, and the defaults do nothing`() async throws {
        let transport: any SessionSyncTransport = Silent()
        try await transport.send(TransportInboxTests.envelope(1), mode: .reliableEventually)
        try await transport.sendSnapshot(
            TransportInboxTests.snapshot(1, TransportInboxTests.metadata(1)), mode: .latestSnapshot)
        try await transport.requestSnapshot(sessionID: UUID())
        #expect(transport.latestPeerSnapshot(featureID: "workout") == nil)
        await transport.close()
    }

    @Test func `Every diagnostic event has a description`() throws {
        let metadata = TransportInboxTests.metadata(3)
        let events: [SessionDiagnosticEvent] = [
            .envelopeSent(metadata, mode: .reliableEventually, peerID: nil), .envelopeReceived(metadata),
            .snapshotSent(metadata, revision: 2, mode: .latestSnapshot, peerID: "watch"),
            .snapshotReceived(metadata, revision: 2), .snapshotRequestSent(peerID: nil),
            .snapshotRequestReceived(peerID: "watch"), .reachabilityChanged(peerID: "watch", isReachable: false),
            .sendFailed(metadata, mode: .realtimeBestEffort, reason: "gone"), .rejected(peerID: nil, reason: "garbage"),
        ]
        #expect(Set(events.map(\.description)).count == events.count)
        #expect("\(events[1])" == "received workout phone#3 text")
        #expect("\(events[6])" == "watch is unreachable")
    }

    @Test func `Modes and latencies keep their names and order`() {
        #expect(
            SessionDeliveryMode.allCases.map(\.rawValue) == [
                "realtimeBestEffort", "reliableEventually", "latestSnapshot", "snapshotRequest", "acknowledgement",
            ])
        let latencies: [SessionExpectedLatency] = [.eventual, .realtime, .background, .interactive]
        #expect(latencies.sorted() == [.realtime, .interactive, .background, .eventual])
    }
}

/// Accepts everything and delivers nothing, with the contract's defaults.
private struct Silent: SessionSyncTransport {
    let localPeer = SessionPeer(id: "a", deviceClass: .unknown, appInstanceID: "1", topology: .unknown)
    let knownPeers: [SessionPeer] = []
    let capabilities = SessionTransportCapabilities(
        supportsRealtime: false, supportsDurableQueue: false, supportsLatestStateReplacement: false,
        supportsRequestReply: false, supportsBroadcast: false, supportsPeerDiscovery: false, maximumPayloadSize: nil,
        expectedLatency: .eventual)

    func send(_ envelope: AnySessionSyncEnvelope, mode: SessionDeliveryMode, to peer: SessionPeer?) async throws {
        #expect(peer == nil)
    }
    func sendSnapshot(
        _ snapshot: AnySessionSyncSnapshot, mode: SessionDeliveryMode, to peer: SessionPeer?
    ) async throws { #expect(peer == nil) }
    func requestSnapshot(sessionID: UUID, from peer: SessionPeer?) async throws { #expect(peer == nil) }
    func receiveEnvelopes() -> AsyncStream<AnySessionSyncEnvelope> { AsyncStream { $0.finish() } }
    func receiveSnapshots() -> AsyncStream<AnySessionSyncSnapshot> { AsyncStream { $0.finish() } }
    func receiveSnapshotRequests() -> AsyncStream<SessionSnapshotRequest> { AsyncStream { $0.finish() } }
    func reachabilityChanges() -> AsyncStream<SessionPeerReachability> { AsyncStream { $0.finish() } }
}

/// Writes `size` bytes for any value.
private struct FixedCodec: PayloadCodec {
    let size: Int
    let id = PayloadCodecID(number: 200, name: "fixed")

    func encode<Value: Encodable>(_ value: Value) throws -> [UInt8] { [UInt8](repeating: 0, count: size) }

    func decode<Value: Decodable>(_ type: Value.Type, from bytes: UnsafeRawBufferPointer) throws -> Value {
        throw CocoaError(.coderReadCorrupt)
    }
}
