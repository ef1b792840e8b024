#if UDP
    import Foundation
    import MeshBase
    import MeshDiscovery
    import MeshLocalNetworkLab
    import MeshSecurity
    import MeshTestSupport
    import MeshTransport
    import Testing

    @testable import MeshUDPTransport

    /// A device in a test: its key, its trusted peers, its link and the link's events.
    final class TestPeer: Sendable {
        let identity: PeerIdentity
        let trusted: TrustedPeers
        let recorder = LinkRecorder()
        let link: UDPLink
        private let refusalLog = Locked<[UDPRefusal]>([])
        private let refusalTask: Task<Void, Never>

        init(
            _ identity: PeerIdentity = PeerIdentity(), trusted: TrustedPeers = TrustedPeers(),
            on network: InMemoryNetwork? = nil, manual: [UDPManualPeer] = [], address: String = "127.0.0.1",
            change: (inout UDPLinkConfiguration) -> Void = { _ in }
        ) {
            self.identity = identity
            self.trusted = trusted
            var configuration = UDPLinkConfiguration(
                identity: identity, trustedPeers: trusted, discovery: network?.makeDiscovery(), manualPeers: manual,
                address: address)
            change(&configuration)
            link = UDPLink(configuration)
            let (refusals, log) = (link.refusals(), refusalLog)
            refusalTask = Task { for await refusal in refusals { log.withLock { $0.append(refusal) } } }
        }

        deinit { refusalTask.cancel() }

        var id: PeerID { identity.peerID }
        var refusals: [UDPRefusal] { refusalLog.withLock { $0 } }
        var codes: Set<UDPRefusal.Code> { Set(refusals.map(\.code)) }
        var place: UDPManualPeer { UDPManualPeer(host: "127.0.0.1", port: link.port ?? 0) }

        func trust(_ others: PeerID...) throws {
            for other in others { try trusted.trust(TrustedPeer(id: other, name: "test")) }
        }

        @discardableResult
        func open() throws -> TestPeer {
            try link.open(recorder)
            return self
        }

        /// Sends to the connected peer, and waits for space if necessary.
        func send(_ bytes: [UInt8], on lane: LinkLane = .stream) async throws {
            while true {
                guard let address = recorder.current else { throw LinkError(.unreachable, "nobody is connected") }
                let count = recorder.writableCount
                do throws(LinkError) {
                    return try link.send(LinkPacket(lane: lane, bytes: bytes), to: address)
                } catch {
                    guard error.code == .full else { throw error }
                    try await eventually("room") { recorder.writableCount > count || recorder.current != address }
                }
            }
        }
    }

    /// Two peers that trust each other.
    func trustingPair(_ first: TestPeer, _ second: TestPeer) throws -> (TestPeer, TestPeer) {
        try first.trust(second.id)
        try second.trust(first.id)
        return (first, second)
    }

    /// Records the events of a link.
    final class LinkRecorder: LinkObserver {
        struct Log {
            var addresses: [LinkAddress] = []
            var peerIDs: [String?] = []
            var reasons: [String?] = []
            var packets: [LinkLane: [[UInt8]]] = [:]
            var writableCount = 0
            var connectedNow: [LinkAddress] = []
            var mostAtOnce = 0
        }

        private let log = Locked(Log())

        var current: LinkAddress? { log.withLock { $0.connectedNow.last } }
        var isConnected: Bool { current != nil }
        var connectionCount: Int { log.withLock { $0.addresses.count } }
        var disconnectionCount: Int { log.withLock { $0.reasons.count } }
        var reasons: [String?] { log.withLock { $0.reasons } }
        var peerIDs: [String?] { log.withLock { $0.peerIDs } }
        var addresses: [LinkAddress] { log.withLock { $0.addresses } }
        /// The maximum number of connections at one time.
        var mostAtOnce: Int { log.withLock { $0.mostAtOnce } }
        var writableCount: Int { log.withLock { $0.writableCount } }
        func packets(on lane: LinkLane) -> [[UInt8]] { log.withLock { $0.packets[lane] ?? [] } }
        func bytes(on lane: LinkLane) -> [UInt8] { Array(packets(on: lane).joined()) }

        func found(_ address: LinkAddress, as peerID: String?) {}

        func connected(_ address: LinkAddress, as peerID: String?) {
            log.withLock { log in
                log.addresses.append(address)
                log.peerIDs.append(peerID)
                log.connectedNow.append(address)
                log.mostAtOnce = max(log.mostAtOnce, log.connectedNow.count)
            }
        }

        func received(_ bytes: UnsafeRawBufferPointer, on lane: LinkLane, from address: LinkAddress) {
            let bytes = Array(bytes)
            log.withLock { $0.packets[lane, default: []].append(bytes) }
        }

        func writable(_ address: LinkAddress) { log.withLock { $0.writableCount += 1 } }

        func disconnected(_ address: LinkAddress, reason: String?) {
            log.withLock { log in
                log.reasons.append(reason)
                log.connectedNow.removeAll { $0 == address }
            }
        }

        func failed(_ reason: String) { log.withLock { $0.reasons.append(reason) } }
    }
#endif
