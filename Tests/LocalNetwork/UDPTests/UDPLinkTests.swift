#if UDP
    import Foundation
    import MeshBase
    import MeshLocalNetworkLab
    import MeshSecurity
    import MeshTestSupport
    import MeshTransport
    import Testing

    @testable import MeshUDPTransport

    @Suite struct UDPLinkTests {
        @Test("Two peers that trust each other connect, and each knows the other's peer ID")
        func meeting() async throws {
            let network = InMemoryNetwork()
            let (phone, watch) = try trustingPair(TestPeer(on: network), TestPeer(on: network))
            try phone.open()
            try watch.open()
            try await eventually("a connection") { phone.recorder.isConnected && watch.recorder.isConnected }
            #expect(phone.recorder.peerIDs == [watch.id.description])
            #expect(watch.recorder.peerIDs == [phone.id.description])
            #expect(phone.recorder.addresses[0].rawValue.hasPrefix("udp:\(watch.id.description.prefix(8))#"))
            try await phone.send(Array("there".utf8))
            try await watch.send(Array("back".utf8))
            try await eventually("both") {
                phone.recorder.bytes(on: .stream) == Array("back".utf8)
                    && watch.recorder.bytes(on: .stream) == Array("there".utf8)
            }
            await phone.link.close()
            try await eventually("the end") { watch.recorder.disconnectionCount == 1 }
            #expect(watch.recorder.reasons == [nil])
            await watch.link.close()
        }

        @Test("The refusals of a link that was never opened end when it is closed")
        func neverOpened() async throws {
            let peer = TestPeer()
            let (refusals, hasEnded) = (peer.link.refusals(), Locked(false))
            Task {
                for await _ in refusals {}
                hasEnded.withLock { $0 = true }
            }
            await peer.link.close()
            try await eventually("the end of the stream") { hasEnded.withLock { $0 } }
            #expect(throws: LinkError(.closed)) { try peer.open() }
        }

        @Test("A peer at a known place is dialed, also over IPv6", arguments: ["127.0.0.1", "::1"])
        func manual(address: String) async throws {
            let watch = TestPeer(address: address)
            try watch.open()
            let place = UDPManualPeer(host: address, port: try #require(watch.link.port))
            let phone = TestPeer(manual: [place], address: address)
            _ = try trustingPair(phone, watch)
            try phone.open()
            try await eventually("a connection") { phone.recorder.isConnected && watch.recorder.isConnected }
            await phone.link.close()
            await watch.link.close()
        }

        @Test("Five peers that trust each other connect once per pair")
        func crowd() async throws {
            let network = InMemoryNetwork()
            let peers = (0..<5).map { _ in TestPeer(on: network) }
            for peer in peers { for other in peers where other !== peer { try peer.trust(other.id) } }
            for peer in peers { try peer.open() }
            try await eventually("ten connections") { peers.allSatisfy { $0.recorder.connectionCount >= 4 } }
            for peer in peers {
                let others = peers.filter { $0 !== peer }.map(\.id.description)
                #expect(Set(peer.recorder.peerIDs.compactMap { $0 }) == Set(others))
            }
            for peer in peers { await peer.link.close() }
        }

        @Test("Datagrams use the sealed socket once the peer receives them")
        func datagrams() async throws {
            let network = InMemoryNetwork()
            let (phone, watch) = try trustingPair(TestPeer(on: network), TestPeer(on: network))
            try phone.open()
            try watch.open()
            try await eventually("a connection") { phone.recorder.isConnected && watch.recorder.isConnected }
            try await eventually("a sealed datagram") {
                let address = phone.recorder.current ?? ""
                try? phone.link.send(LinkPacket(lane: .datagram, bytes: [1, 2, 3]), to: address)
                return watch.link.statistics.datagramsReceived > 0
            }
            #expect(Set(watch.recorder.packets(on: .datagram)) == [[1, 2, 3]])
            await phone.link.close()
            await watch.link.close()
        }

        @Test("A port in use is a clear error, and the link can be opened once it is free")
        func portTaken() async throws {
            let first = try TestPeer().open()
            let port = try #require(first.link.port)
            let second = TestPeer(change: { $0.port = port })
            let error = #expect(throws: UDPLinkError.self) { try second.open() }
            #expect(error?.code == .portTaken)
            await first.link.close()
            try second.open()
            #expect(second.link.port == port)
            await second.link.close()
        }

        @Test("An address or an interface that is not this machine's is a clear error")
        func noSuchPlace() async throws {
            let elsewhere = #expect(throws: UDPLinkError.self) { try TestPeer(address: "192.0.2.1").open() }
            #expect(elsewhere?.code == .noSuchAddress)
            let name = #expect(throws: UDPLinkError.self) { try TestPeer(address: "localhost").open() }
            #expect(name?.code == .noSuchAddress)
            let interface = #expect(throws: UDPLinkError.self) {
                try TestPeer(change: { $0.interface = "none0" }).open()
            }
            #expect(interface?.code == .noSuchInterface)
        }

        @Test("A textual address is read as host and port")
        func places() {
            #expect(UDPManualPeer("host:7000") == UDPManualPeer(host: "host", port: 7000))
            #expect(UDPManualPeer("[::1]:7000") == UDPManualPeer(host: "::1", port: 7000))
            #expect(UDPManualPeer("[::1]:7000")?.description == "[::1]:7000")
            for text in ["", ":", "host", "host:", "host:0", "host:65536", "host:-1", "::1:7000", "[]:1"] {
                #expect(UDPManualPeer(text) == nil, "\(text)")
            }
        }
    }
#endif
