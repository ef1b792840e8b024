#if WebSocket
    import Foundation
    import MeshBase
    import MeshGatewayLab
    import MeshGatewayServer
    import MeshRelay
    import MeshResumeGateway
    import MeshSecurity
    import MeshTransport
    import Testing

    @testable import MeshGatewayTransport

    @Suite(.timeLimit(.minutes(5))) struct GatewayLinkTests {
        /// An observer that records a link's reports.
        private final class Ear: LinkObserver {
            struct Heard {
                var found = 0, connected = 0, guests = 0
                var bytes: [LinkLane: [[UInt8]]] = [:]
            }
            private let heard = Locked(Heard())
            func wait(_ isSo: (Heard) -> Bool) async throws {
                while !heard.withLock({ isSo($0) }) { try await Task.sleep(for: .milliseconds(2)) }
            }
            func found(_ address: LinkAddress, as peerID: String?) { heard.withLock { $0.found += 1 } }
            func connected(_ address: LinkAddress, as peerID: String?) { heard.withLock { $0.connected += 1 } }
            func connected(_ address: LinkAddress, asGuest peerID: String) { heard.withLock { $0.guests += 1 } }
            func received(_ bytes: UnsafeRawBufferPointer, on lane: LinkLane, from address: LinkAddress) {
                heard.withLock { $0.bytes[lane, default: []].append(Array(bytes)) }
            }
            func writable(_ address: LinkAddress) {}
            func disconnected(_ address: LinkAddress, reason: String?) {}
            func failed(_ reason: String) {}
        }

        private static let secret = Array("the plain text that nobody else reads".utf8)

        private static func send(_ lane: LinkLane, from link: RelayLink, to peer: PeerIdentity) async throws {
            let packet = LinkPacket(lane: lane, bytes: secret, key: lane == .latest ? "feature" : "")
            while true {
                let failure = link.refusal(of: packet, to: peer)
                guard let failure else { return }
                guard failure.code == .full || failure.code == .unreachable else { throw failure }
                try await Task.sleep(for: .milliseconds(5))
            }
        }

        @Test func `Peers at two gateways with one store reach each other on every lane, and the store reads nothing`()
            async throws
        {
            let store = MemoryMailboxStore()
            let gateways = [try await LabGateway.start(store: store), try await LabGateway.start(store: store)]
            let identities = [PeerIdentity(), PeerIdentity()]
            var configurations = try gateways[0].configurations(identities)
            configurations[1].url = gateways[1].url
            let (links, ears) = (try configurations.map { try RelayLink($0) }, [Ear(), Ear()])
            for (link, ear) in zip(links, ears) { try link.open(ear) }
            for ear in ears { try await ear.wait { $0.connected == 1 } }
            for lane in [LinkLane.datagram, .queue, .latest] {
                try await Self.send(lane, from: links[0], to: identities[1])
            }
            try await ears[1].wait { heard in
                [LinkLane.datagram, .queue, .latest].allSatisfy { heard.bytes[$0] == [Self.secret] }
            }
            let stream = identities[1].peerID.description
            let standing = await store.standing(of: stream)
            let page = await store.page(
                of: stream, after: ReplayPosition(epoch: standing.epoch, sequence: standing.oldest - 1), limit: 100)
            guard case .entries(let entries, _) = page else { throw CancellationError() }
            #expect(!entries.isEmpty)
            let values = await store.values(nil, of: stream)
            #expect(values.keys.contains { $0.hasPrefix("latest/") })
            for bytes in entries.compactMap({ QueuedPacket.read($0.event)?.bytes }) + Array(values.values) {
                #expect(String(decoding: bytes, as: UTF8.self).contains("plain text") == false)
            }
            for link in links { await link.close() }
        }

        @Test func `A guest is admitted on live lanes and has no kept lanes`() async throws {
            let gateway = try await LabGateway.start()
            let identities = [PeerIdentity(), PeerIdentity()]
            let links = try identities.map { identity in
                try RelayLink(
                    GatewayLinkConfiguration(
                        identity: identity, trustedPeers: TrustedPeers(), url: gateway.url,
                        // Each device has its own user.
                        token: { identity.peerID.description }))
            }
            let ears = [Ear(), Ear()]
            for (link, ear) in zip(links, ears) { try link.open(ear) }
            for index in 0..<2 { links[index].admit(guests: [identities[1 - index].peerID.description]) }
            for ear in ears { try await ear.wait { $0.guests == 1 && $0.found == 0 && $0.connected == 0 } }
            try await Self.send(.datagram, from: links[0], to: identities[1])
            try await ears[1].wait { $0.bytes[.datagram] == [Self.secret] }
            #expect(throws: LinkError(.unreachable)) {
                try links[0].send(
                    LinkPacket(lane: .queue, bytes: Self.secret), to: LinkAddress(identities[1].peerID.description))
            }
            for link in links { await link.close() }
        }

        @Test func `A gateway that restarts is found again, and messages queued meanwhile arrive`()
            async throws
        {
            let store = MemoryMailboxStore()
            var gateway: LabGateway? = try await LabGateway.start(store: store)
            let identities = [PeerIdentity(), PeerIdentity()]
            let configurations = try #require(gateway).configurations(identities)
            let port = try #require(gateway).server.port
            let (links, ears) = (try configurations.map { try RelayLink($0) }, [Ear(), Ear()])
            for (link, ear) in zip(links, ears) { try link.open(ear) }
            for ear in ears { try await ear.wait { $0.connected == 1 } }
            await gateway?.server.crash()
            gateway = nil
            var settings = GatewayServerSettings()
            settings.port = port
            gateway = try await LabGateway.start(settings, store: store)
            try await Self.send(.queue, from: links[0], to: identities[1])
            try await ears[1].wait { $0.bytes[.queue] == [Self.secret] && $0.connected == 2 }
            for link in links { await link.close() }
            withExtendedLifetime(gateway) {}
        }

        @Test func `When a gateway has shut down, the store has the wills of its devices`() async throws {
            let store = MemoryMailboxStore()
            let gateway = try await LabGateway.start(store: store)
            let identities = [PeerIdentity(), PeerIdentity()]
            let links = try gateway.configurations(identities).map { try RelayLink($0) }
            let ears = [Ear(), Ear()]
            for (link, ear) in zip(links, ears) { try link.open(ear) }
            for ear in ears { try await ear.wait { $0.connected == 1 } }
            let streams = identities.map(\.peerID.description)
            var presences: [[String: [UInt8]]] = []
            for stream in streams { presences.append(await store.values(["presence"], of: stream)) }
            await gateway.server.shutDown()
            for (stream, presence) in zip(streams, presences) {
                let will = await store.values(["presence"], of: stream)
                #expect(will.count == 1 && will != presence)
            }
            for link in links { await link.close() }
        }

        @Test func `A URL that would send in clear text, and one that is none, are refused by name`() throws {
            for url in ["ws://gateway.example.org/", "https://gateway.example.org", "wss://"] {
                #expect(throws: (any Error).self) {
                    try RelayLink(
                        GatewayLinkConfiguration(
                            identity: PeerIdentity(), trustedPeers: TrustedPeers(), url: url, token: { "anna" }))
                }
            }
        }

        @Test func `A rejected token is reported, and the link keeps trying`() async throws {
            let gateway = try await LabGateway.start()
            let diagnostics = Topic<SessionDiagnosticEvent>(bufferLimit: 16)
            let events = diagnostics.subscribe()
            let link = try RelayLink(
                GatewayLinkConfiguration(
                    identity: PeerIdentity(), trustedPeers: TrustedPeers(), url: gateway.url, token: { "" }),
                diagnostics: diagnostics)
            try link.open(Ear())
            for await case .rejected(_, let reason) in events {
                #expect(reason.contains("doesn't accept this token"))
                break
            }
            await link.close()
        }
    }

    extension RelayLink {
        /// - Returns: nil if the link accepted the packet.
        fileprivate func refusal(of packet: LinkPacket, to peer: PeerIdentity) -> LinkError? {
            do throws(LinkError) {
                try send(packet, to: LinkAddress(peer.peerID.description))
                return nil
            } catch {
                return error
            }
        }
    }
#endif
