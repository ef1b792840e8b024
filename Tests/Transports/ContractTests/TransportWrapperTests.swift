import Foundation
import MeshBase
import MeshIdentity
import MeshTransport
import Testing

@Suite struct TransportWrapperTests {
    /// A wrapper compiles even if it doesn't forward a requirement with a default. The transport would miss those calls.
    @Test func `A wrapper forwards every requirement of the contract but one`() async throws {
        let spy = Spy()
        let wrapper: any SessionSyncTransport = Bare(wrapped: spy)
        let envelope = try TransportInboxTests.envelope(1)
        _ = (wrapper.localPeer, wrapper.knownPeers, wrapper.capabilities, wrapper.problems)
        try wrapper.start()
        try await wrapper.send(envelope, mode: .reliableEventually, to: nil)
        try await wrapper.send([envelope], mode: .reliableEventually, to: nil)
        try await wrapper.sendSnapshot(
            TransportInboxTests.snapshot(1, envelope.metadata), mode: .latestSnapshot, to: nil)
        try await wrapper.requestSnapshot(sessionID: UUID(), from: nil)
        #expect(wrapper.cancel(eventID: UUID(), featureID: "workout"))
        #expect(wrapper.isWaiting(eventID: UUID(), featureID: "workout"))
        wrapper.expedite(eventID: UUID(), featureID: "workout")
        #expect(wrapper.remainingWakes == 3)
        wrapper.admitGuests(["guest"], toSession: UUID(), featureID: "workout")
        #expect(wrapper.isOwn("watch") && wrapper.revokedPeers() != nil)
        _ = (wrapper.receiveEnvelopes(), wrapper.envelopeBatches { _ in true })
        _ = (wrapper.receiveSnapshots(), wrapper.receiveSnapshotRequests(), wrapper.reachabilityChanges())
        _ = wrapper.latestPeerSnapshot(featureID: "workout")
        await wrapper.close()
        // A wrapper that changes sends would miss these envelopes, so they come through `send`.
        #expect(!wrapper.sendWithNext([envelope], to: nil))
        let calls = spy.calls.withLock { $0 }
        #expect(Set(calls).count == calls.count)
        #expect(
            calls.count == (try requirementCount(of: "SessionSyncTransport")) - 1,
            "call the new requirement here, and forward it")
    }
}

/// The number of requirements that a contract's source declares.
func requirementCount(of contract: String) throws -> Int {
    var file = URL(fileURLWithPath: #filePath)
    for _ in 0..<4 { file.deleteLastPathComponent() }
    file.append(path: "Modules/Transports/Contract/\(contract).swift")
    let lines = try String(contentsOf: file, encoding: .utf8).split(separator: "\n")
    return lines.drop { !$0.hasPrefix("public protocol \(contract)") }.prefix { $0 != "}" }.count {
        $0.hasPrefix("    func ") || $0.hasPrefix("    var ")
    }
}

private struct Bare: TransportWrapper {
    let wrapped: any SessionSyncTransport
}

/// Records the requirements that are called.
private final class Spy: SessionSyncTransport {
    let calls = Locked<[String]>([])
    private let peer = SessionPeer(id: "a", deviceClass: .unknown, appInstanceID: "1", topology: .unknown)

    private func note(_ call: String) { calls.withLock { $0.append(call) } }

    var localPeer: SessionPeer {
        note("localPeer")
        return peer
    }
    var knownPeers: [SessionPeer] {
        note("knownPeers")
        return []
    }
    var capabilities: SessionTransportCapabilities {
        note("capabilities")
        return SessionTransportCapabilities(
            supportsRealtime: false, supportsDurableQueue: false, supportsLatestStateReplacement: false,
            supportsRequestReply: false, supportsBroadcast: false, supportsPeerDiscovery: false,
            maximumPayloadSize: nil, expectedLatency: .eventual)
    }
    func start() throws { note("start") }
    func sendWithNext(_ envelopes: [AnySessionSyncEnvelope], to peer: SessionPeer?) -> Bool {
        note("sendWithNext")
        return true
    }
    var problems: [SessionProblem] {
        note("problems")
        return []
    }
    func send(_ envelope: AnySessionSyncEnvelope, mode: SessionDeliveryMode, to peer: SessionPeer?) async throws {
        note("send")
    }
    func send(
        _ envelopes: [AnySessionSyncEnvelope], mode: SessionDeliveryMode, to peer: SessionPeer?,
        isolation: isolated (any Actor)?
    ) async throws { note("send several") }
    func sendSnapshot(
        _ snapshot: AnySessionSyncSnapshot, mode: SessionDeliveryMode, to peer: SessionPeer?
    ) async throws { note("sendSnapshot") }
    func requestSnapshot(sessionID: UUID, from peer: SessionPeer?) async throws { note("requestSnapshot") }
    func cancel(eventID: UUID, featureID: String) -> Bool {
        note("cancel")
        return true
    }
    func isWaiting(eventID: UUID, featureID: String) -> Bool {
        note("isWaiting")
        return true
    }
    func expedite(eventID: UUID, featureID: String) { note("expedite") }
    var remainingWakes: Int? {
        note("remainingWakes")
        return 3
    }
    func admitGuests(_ peerIDs: Set<String>, toSession sessionID: UUID, featureID: String) { note("admitGuests") }
    func isOwn(_ peerID: String) -> Bool {
        note("isOwn")
        return true
    }
    func revokedPeers() -> AsyncStream<Set<String>>? {
        note("revokedPeers")
        return AsyncStream { $0.finish() }
    }
    func receiveEnvelopes() -> AsyncStream<AnySessionSyncEnvelope> {
        note("receiveEnvelopes")
        return AsyncStream { $0.finish() }
    }
    func envelopeBatches(
        where isWanted: @escaping @Sendable (SessionSyncMetadata) -> Bool
    ) -> EnvelopeBatches {
        note("envelopeBatches")
        return EnvelopeBatches { _ in nil }
    }
    func receiveSnapshots() -> AsyncStream<AnySessionSyncSnapshot> {
        note("receiveSnapshots")
        return AsyncStream { $0.finish() }
    }
    func receiveSnapshotRequests() -> AsyncStream<SessionSnapshotRequest> {
        note("receiveSnapshotRequests")
        return AsyncStream { $0.finish() }
    }
    func reachabilityChanges() -> AsyncStream<SessionPeerReachability> {
        note("reachabilityChanges")
        return AsyncStream { $0.finish() }
    }
    func latestPeerSnapshot(featureID: String) -> AnySessionSyncSnapshot? {
        note("latestPeerSnapshot")
        return nil
    }
    func close() async { note("close") }
}
