#if UDP
    import Foundation
    import MeshBase
    import MeshLocalNetworkLab
    import MeshSecurity
    import MeshTestSupport
    import MeshTransport
    import NIOCore
    import Testing

    @testable import MeshUDPTransport

    /// The end of connections, and their restart.
    @Suite struct ConnectionTests {
        @Test("A peer of an earlier version is dead after three silent heartbeats, however full its queue is")
        func heartbeat() async throws {
            let watch = try TestPeer(change: { $0.times.heartbeat = .milliseconds(600) }).open()
            let identity = PeerIdentity()
            try watch.trust(identity.peerID)
            let mute = try await RawPeer.connect(to: try #require(watch.link.port), .init(identity: identity))
            mute.greet()
            try await eventually("a connection") { watch.recorder.isConnected }
            // The peer stops reading.
            try await mute.channel.setOption(.autoRead, value: false).get()
            let packet = LinkPacket(lane: .stream, bytes: Array(repeating: 1, count: 60_000))
            var isFull = false
            try await eventually("the end") {
                while let address = watch.recorder.current {
                    do throws(LinkError) {
                        try watch.link.send(packet, to: address)
                    } catch {
                        isFull = isFull || error.code == .full
                        return false
                    }
                }
                return true
            }
            #expect(isFull)
            #expect(watch.recorder.reasons.first??.contains("the peer sent nothing") == true)
            mute.close()
            await watch.link.close()
        }

        @Test("Idle peers stay connected")
        func idle() async throws {
            let network = InMemoryNetwork()
            func impatient() -> TestPeer { TestPeer(on: network, change: { $0.times.heartbeat = .milliseconds(300) }) }
            let (phone, watch) = try trustingPair(impatient(), impatient())
            try phone.open()
            try watch.open()
            try await eventually("a connection") { phone.recorder.isConnected && watch.recorder.isConnected }
            // Without heartbeats each side would consider the other dead after three seconds.
            try await Task.sleep(for: .milliseconds(3500))
            #expect(phone.recorder.disconnectionCount == 0)
            #expect(watch.recorder.disconnectionCount == 0)
            await phone.link.close()
            await watch.link.close()
        }

        @Test("Unpairing ends the connection at once, and no dial follows until trust changes")
        func unpairing() async throws {
            let network = InMemoryNetwork()
            let (phone, watch) = try trustingPair(TestPeer(on: network), TestPeer(on: network))
            try phone.open()
            try watch.open()
            try await eventually("a connection") { phone.recorder.isConnected && watch.recorder.isConnected }
            try phone.trusted.distrust(watch.id)
            try await eventually("the end") { !phone.recorder.isConnected && !watch.recorder.isConnected }
            #expect(watch.recorder.reasons.first??.contains("unpaired") == true)
            let dials = watch.link.statistics.dialCount
            try await Task.sleep(for: .milliseconds(1500))
            #expect(watch.link.statistics.dialCount == dials)
            #expect(phone.recorder.connectionCount == 1)
            try phone.trust(watch.id)
            try watch.trusted.distrust(phone.id)
            try watch.trust(phone.id)
            try await eventually("a new connection") { phone.recorder.isConnected && watch.recorder.isConnected }
            await phone.link.close()
            await watch.link.close()
        }

        @Test("A disconnected peer reconnects by itself, with an address of its own")
        func reconnection() async throws {
            let network = InMemoryNetwork()
            let (phone, watch) = try trustingPair(TestPeer(on: network), TestPeer(on: network))
            try phone.open()
            try watch.open()
            for round in 1...3 {
                try await eventually("connection \(round)") {
                    phone.recorder.connectionCount == round && watch.recorder.connectionCount == round
                }
                phone.link.disconnect(try #require(phone.recorder.current))
            }
            try await eventually("a connection") { phone.recorder.isConnected && watch.recorder.isConnected }
            #expect(Set(phone.recorder.addresses).count == phone.recorder.addresses.count)
            #expect(phone.recorder.mostAtOnce == 1)
            await phone.link.close()
            await watch.link.close()
        }

        /// A link to which a trusted raw peer has connected with start ID 1, that peer, and further connections of it.
        private func connected() async throws -> (TestPeer, RawPeer, connect: () async throws -> RawPeer) {
            let watch = try TestPeer().open()
            let identity = PeerIdentity()
            try watch.trust(identity.peerID)
            let port = try #require(watch.link.port)
            let connect = { try await RawPeer.connect(to: port, .init(identity: identity)) }
            let first = try await connect()
            first.greet(startID: 1)
            try await eventually("a connection") { watch.recorder.connectionCount == 1 }
            return (watch, first, connect)
        }

        @Test("A relaunched peer is connected at once, and its earlier launch's connection ends")
        func relaunch() async throws {
            let (watch, first, connect) = try await connected()
            let second = try await connect()
            second.greet(startID: 2)
            try await eventually("another") { watch.recorder.connectionCount == 2 }
            try await eventually("a word to the first") { first.goodbye == .duplicate }
            #expect(watch.recorder.mostAtOnce == 1)
            #expect(watch.recorder.reasons == [nil])
            await watch.link.close()
        }

        @Test("A second connection with an invalid datagram key is refused, and the first one stays")
        func invalidDatagramKey() async throws {
            let (watch, first, connect) = try await connected()
            let second = try await connect()
            second.greet(startID: 2, publicKey: Array(repeating: 0, count: 32))
            try await eventually("the refusal") { watch.codes.contains(.protocolError) }
            try await eventually("the end of the second") { second.isClosed }
            #expect(!first.isClosed && first.goodbye == nil)
            #expect(watch.recorder.isConnected)
            #expect(watch.recorder.disconnectionCount == 0)
            // The first launch still counts as the peer's latest. The rejected one didn't replace it.
            let third = try await connect()
            third.greet(startID: 1)
            try await eventually("a valid connection") { watch.recorder.connectionCount == 2 }
            #expect(!watch.codes.contains(.clonedIdentity))
            await watch.link.close()
        }

        @Test("A datagram replaced by a newer one while the stream is full is counted")
        func replacedDatagrams() async throws {
            let watch = try TestPeer().open()
            let identity = PeerIdentity()
            try watch.trust(identity.peerID)
            let mute = try await RawPeer.connect(to: try #require(watch.link.port), .init(identity: identity))
            mute.greet()
            try await eventually("a connection") { watch.recorder.isConnected }
            let address = try #require(watch.recorder.current)
            // The peer stops reading, so datagrams wait for the stream. At most 64 of them do.
            try await mute.channel.setOption(.autoRead, value: false).get()
            let packet = LinkPacket(lane: .stream, bytes: Array(repeating: 1, count: 60_000))
            try await eventually("a replaced datagram") {
                do throws(LinkError) {
                    while true { try watch.link.send(packet, to: address) }
                } catch {
                    guard error.code == .full else { return false }
                }
                for _ in 0..<100 { try? watch.link.send(LinkPacket(lane: .datagram, bytes: [1]), to: address) }
                return watch.link.statistics.fallbackDropped > 0
            }
            mute.close()
            await watch.link.close()
        }

        @Test("Two peers that dial each other at once keep one connection, the same on both sides")
        func duplicates() async throws {
            for _ in 0..<5 {
                // Each side needs the other's port in advance.
                let (first, second) = (PeerIdentity(), PeerIdentity())
                let ports = try await Self.freePorts()
                let left = TestPeer(
                    first, manual: [UDPManualPeer(host: "127.0.0.1", port: ports.1)], change: { $0.port = ports.0 })
                let right = TestPeer(
                    second, manual: [UDPManualPeer(host: "127.0.0.1", port: ports.0)], change: { $0.port = ports.1 })
                _ = try trustingPair(left, right)
                try left.open()
                try right.open()
                try await eventually("a connection") { left.recorder.isConnected && right.recorder.isConnected }
                try await eventually("the messages that each sends to reach the other") {
                    let (there, back) = (left.recorder.current ?? "", right.recorder.current ?? "")
                    try? left.link.send(LinkPacket(lane: .stream, bytes: [1]), to: there)
                    try? right.link.send(LinkPacket(lane: .stream, bytes: [2]), to: back)
                    return left.recorder.isConnected && right.recorder.isConnected
                        && !left.recorder.bytes(on: .stream).isEmpty && !right.recorder.bytes(on: .stream).isEmpty
                }
                #expect(left.recorder.mostAtOnce == 1)
                #expect(right.recorder.mostAtOnce == 1)
                await left.link.close()
                await right.link.close()
            }
        }

        @Test("Closing sends accepted packets")
        func closing() async throws {
            let network = InMemoryNetwork()
            let (phone, watch) = try trustingPair(TestPeer(on: network), TestPeer(on: network))
            try phone.open()
            try watch.open()
            try await eventually("a connection") { phone.recorder.isConnected && watch.recorder.isConnected }
            let packets = (0..<200).map { [UInt8](repeating: UInt8($0), count: 5000) }
            for packet in packets { try await phone.send(packet) }
            await phone.link.close()
            try await eventually("the end") { watch.recorder.disconnectionCount == 1 }
            #expect(watch.recorder.bytes(on: .stream) == Array(packets.joined()))
            await watch.link.close()
        }

        private static func freePorts() async throws -> (UInt16, UInt16) {
            let (one, two) = (try TestPeer().open(), try TestPeer().open())
            let ports = (try #require(one.link.port), try #require(two.link.port))
            await one.link.close()
            await two.link.close()
            return ports
        }
    }
#endif
