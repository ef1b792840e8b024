#if UDP
    import Foundation
    import MeshBase
    import MeshIdentity
    import MeshTestSupport
    import MeshTransport
    import Testing

    @testable import MeshSecurity

    /// Notices of lost peers over a transport that the test drives.
    @Suite struct RevocationCarrierTests {
        private static let (phone, tablet, watch) = (PeerID.sample(1), PeerID.sample(2), PeerID.sample(3))
        private let transport = NoticeTransport(localPeer: .of(Self.tablet))
        private let trusted = TrustedPeers()
        private let carrier: RevocationCarrier

        init() throws {
            for id in [Self.phone, Self.watch] { try trusted.trust(TrustedPeer(id: id, name: "test", isOwn: true)) }
            carrier = RevocationCarrier(trusted, over: transport) { [weak transport] in transport }
        }

        @Test func `a notice that arrives before its sender is reachable is answered once it is`() async throws {
            transport.inbox.deliver(try notice(number: 7))
            try await eventually("the report") { !trusted.lossReports.isEmpty }
            transport.inbox.deliver(SessionPeerReachability(true, peer: .of(Self.phone)))
            try await eventually("the answer") { transport.answers == [7] }
        }

        @Test func `an answer that the transport refuses is owed until the peer is reachable again`() async throws {
            transport.inbox.deliver(SessionPeerReachability(true, peer: .of(Self.phone)))
            transport.refusalsLeft.withLock { $0 = 1 }
            transport.inbox.deliver(try notice(number: 7))
            try await eventually("the refusal") { transport.refusalsLeft.withLock { $0 == 0 } }
            for isReachable in [false, true] {
                transport.inbox.deliver(SessionPeerReachability(isReachable, peer: .of(Self.phone)))
            }
            try await eventually("the answer") { transport.answers == [7] }
        }

        @Test func `a notice that replaces an answer answers too`() async throws {
            transport.inbox.deliver(SessionPeerReachability(true, peer: .of(Self.phone)))
            transport.inbox.deliver(try notice(number: 7))
            try await eventually("the answer") { transport.answers == [7] }
            try trusted.revoke(Self.watch)
            try await eventually("the statement") { transport.answers == [7, 7] }
        }

        @Test func `a notice that can't be stored is processed, and answered, once it can`() async throws {
            let folder = URL.temporaryDirectory.appending(path: UUID().uuidString)
            try FileManager.default.createDirectory(
                at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
            defer { try? FileManager.default.removeItem(at: folder) }
            let file = folder.appending(path: "peers").path
            let trusted = try TrustedPeers(file: file)
            for id in [Self.phone, Self.watch] { try trusted.trust(TrustedPeer(id: id, name: "test", isOwn: true)) }
            let transport = NoticeTransport(localPeer: .of(Self.tablet))
            let waits = Locked(0)
            let carrier = RevocationCarrier(trusted, over: transport) { [weak transport] in
                transport
            } wait: { _ in
                waits.withLock { $0 += 1 }
                await Task.yield()
            }
            transport.inbox.deliver(SessionPeerReachability(true, peer: .of(Self.phone)))
            // Others may write to the file now, so it isn't believed.
            try FileManager.default.setAttributes([.posixPermissions: 0o666], ofItemAtPath: file)
            transport.inbox.deliver(try notice(number: 7))
            try await eventually("more tries") { waits.withLock { $0 > 2 } }
            #expect(transport.answers.isEmpty && trusted.lossReports.isEmpty)
            try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file)
            try await eventually("the answer") { transport.answers == [7] }
            #expect(!trusted.lossReports.isEmpty)
            withExtendedLifetime(carrier) {}
        }

        /// The phone's notice that the watch is lost.
        private func notice(number: UInt64) throws -> AnySessionSyncEnvelope {
            let notice = RevocationNotice(
                statements: [.init(peer: Self.watch, number: number)], answeredNumber: 0, wantsAnswer: true)
            let metadata = SessionSyncMetadata(
                sessionID: RevocationCarrier.scope, featureID: RevocationCarrier.featureID,
                sourcePeerID: Self.phone.description, sequence: 0, causalTimestamp: Date(), payloadType: "notice")
            return try AnySessionSyncEnvelope(SessionSyncEnvelope(metadata: metadata, payload: notice.bytes))
        }
    }

    extension SessionPeer {
        fileprivate static func of(_ id: PeerID) -> SessionPeer {
            SessionPeer(
                id: id.description, deviceClass: .unknown, appInstanceID: id.description, topology: .localNetwork)
        }
    }

    /// Keeps what is sent. The test delivers to its inbox.
    private final class NoticeTransport: SessionSyncTransport {
        let localPeer: SessionPeer
        let inbox = TransportInbox()
        /// The numbers of the notices that were answered.
        private let answered = Locked<[UInt64]>([])
        /// The number of sends to refuse.
        let refusalsLeft = Locked(0)

        init(localPeer: SessionPeer) { self.localPeer = localPeer }

        var answers: [UInt64] { answered.withLock { $0 } }
        var knownPeers: [SessionPeer] { [] }
        var capabilities: SessionTransportCapabilities {
            SessionTransportCapabilities(
                supportsRealtime: true, supportsDurableQueue: true, supportsLatestStateReplacement: true,
                supportsRequestReply: true, supportsBroadcast: false, supportsPeerDiscovery: true,
                maximumPayloadSize: nil, expectedLatency: .realtime, isSecured: true)
        }

        func send(_ envelope: AnySessionSyncEnvelope, mode: SessionDeliveryMode, to peer: SessionPeer?) async throws {
            let isRefused = refusalsLeft.withLock { left in
                defer { left = max(0, left - 1) }
                return left > 0
            }
            if isRefused { throw LinkError(.full) }
            let notice = RevocationNotice(try envelope.decodePayload(as: [UInt8].self))
            answered.withLock { if let notice { $0.append(notice.answeredNumber) } }
        }

        func sendSnapshot(_ snapshot: AnySessionSyncSnapshot, mode: SessionDeliveryMode, to peer: SessionPeer?) {}
        func requestSnapshot(sessionID: UUID, from peer: SessionPeer?) {}
        func receiveEnvelopes() -> AsyncStream<AnySessionSyncEnvelope> { inbox.receiveEnvelopes() }
        func receiveSnapshots() -> AsyncStream<AnySessionSyncSnapshot> { inbox.receiveSnapshots() }
        func receiveSnapshotRequests() -> AsyncStream<SessionSnapshotRequest> { inbox.receiveSnapshotRequests() }
        func reachabilityChanges() -> AsyncStream<SessionPeerReachability> { inbox.reachabilityChanges() }
        func envelopeBatches(
            where isWanted: @escaping @Sendable (SessionSyncMetadata) -> Bool
        ) -> EnvelopeBatches { inbox.envelopeBatches(where: isWanted) }
    }
#endif
