#if UDP
    import Foundation
    import MeshBase
    import MeshDiscovery
    import MeshLocalNetworkLab
    import MeshSecurity
    import MeshTestSupport
    import MeshTransport
    import NIOCore
    import NIOSSL
    import Testing

    @testable import MeshUDPTransport

    /// The attacked side rejects each attack with a clear error, and its other connection isn't affected.
    @Suite struct AttackTests {
        @Test("An unknown key is rejected without further information")
        func unknownKey() async throws {
            let victim = try await Victim()
            let stranger = TestPeer(manual: [victim.phone.place])
            try stranger.trust(victim.phone.id)
            try stranger.open()
            try await victim.refused(.unknownPeer)
            #expect(victim.phone.refusals[0].peerID == stranger.id)
            try await eventually("the stranger's error") { stranger.codes.contains(.refusedByPeer) }
            #expect(!stranger.recorder.isConnected)
            #expect(try await victim.isUnaffected())
            await stranger.link.close()
            await victim.close()
        }

        @Test("A wrong pin is rejected: another trusted peer is at the watch's advertised address")
        func wrongPin() async throws {
            let victim = try await Victim()
            let (other, absent) = (TestPeer(), PeerIdentity().peerID)
            _ = try trustingPair(other, victim.phone)
            try other.open()
            try victim.phone.trust(absent)
            victim.network.spoof(Self.service(claiming: absent, "spoofed", at: try #require(other.link.port)))
            try await victim.refused(.wrongPeer)
            #expect(victim.phone.refusals[0].peerID == other.id)
            #expect(victim.phone.recorder.connectionCount == 1)
            #expect(try await victim.isUnaffected())
            await other.link.close()
            await victim.close()
        }

        @Test("A downgrade to TLS 1.2 is rejected even with a trusted key")
        func downgrade() async throws {
            let victim = try await Victim()
            let identity = PeerIdentity()
            try victim.phone.trust(identity.peerID)
            let attacker = try await RawPeer.connect(
                to: victim.port, .init(identity: identity, newest: .tlsv12))
            try await victim.refused(.downgrade)
            try await eventually("the end") { attacker.isClosed }
            #expect(attacker.bytes.isEmpty)
            #expect(try await victim.isUnaffected())
            await victim.close()
        }

        @Test("A connection without a certificate is refused")
        func noCertificate() async throws {
            let victim = try await Victim()
            let attacker = try await RawPeer.connect(to: victim.port, .init())
            try await victim.refused(.noCertificate)
            try await eventually("the end") { attacker.isClosed }
            #expect(attacker.bytes.isEmpty)
            #expect(try await victim.isUnaffected())
            await victim.close()
        }

        @Test(
            "Another protocol, or none, is rejected even with a trusted key",
            arguments: [[], [TLSPolicy.pairing], ["h2"]])
        func otherProtocol(protocols: [String]) async throws {
            let victim = try await Victim()
            let identity = PeerIdentity()
            try victim.phone.trust(identity.peerID)
            let attacker = try await RawPeer.connect(
                to: victim.port, .init(identity: identity, protocols: protocols))
            try await eventually("the end") { attacker.isClosed }
            try await eventually("a refusal") { !victim.phone.codes.isDisjoint(with: [.noProtocol, .handshakeFailed]) }
            #expect(attacker.bytes.isEmpty)
            #expect(try await victim.isUnaffected())
            await victim.close()
        }

        @Test("Bytes that are no TLS are refused")
        func garbage() async throws {
            let victim = try await Victim()
            let attacker = try await RawPeer.connect(to: victim.port, nil)
            attacker.write(Array("GET / HTTP/1.1\r\n\r\n".utf8))
            try await eventually("the end") { attacker.isClosed }
            try await eventually("a refusal") { victim.phone.refusals.count == 1 }
            #expect(try await victim.isUnaffected())
            await victim.close()
        }

        @Test("An oversized handshake ends at 8 KiB")
        func oversizedHandshake() async throws {
            let victim = try await Victim()
            let attacker = try await RawPeer.connect(to: victim.port, nil)
            // A TLS record that never completes.
            attacker.write([0x16, 0x03, 0x01, 0x3F, 0xFF, 0x01, 0x00, 0x3F, 0xFB] + Array(repeating: 3, count: 8300))
            try await victim.refused(.oversizedHandshake)
            try await eventually("the end") { attacker.isClosed }
            #expect(try await victim.isUnaffected())
            await victim.close()
        }

        @Test("A slow handshake ends at its timeout, whether empty or half done")
        func slowHandshake() async throws {
            let victim = try await Victim { $0.times.handshake = .seconds(1) }
            let silent = try await RawPeer.connect(to: victim.port, nil)
            let halting = try await RawPeer.connect(to: victim.port, nil)
            halting.write([0x16, 0x03, 0x01, 0x02, 0x00, 0x01])
            let identity = PeerIdentity()
            try victim.phone.trust(identity.peerID)
            // The peer proves its identity, and never sends a hello.
            let mute = try await RawPeer.connect(to: victim.port, .init(identity: identity))
            try await victim.refused(.slowHandshake, count: 3)
            try await eventually("the end") { silent.isClosed && halting.isClosed && mute.isClosed }
            #expect(try await victim.isUnaffected())
            await victim.close()
        }

        @Test(
            "A length prefix of 4 GiB ends the connection, before the greeting and after it", arguments: [false, true])
        func lengthPrefix(greets: Bool) async throws {
            let victim = try await Victim()
            let identity = PeerIdentity()
            try victim.phone.trust(identity.peerID)
            let attacker = try await RawPeer.connect(to: victim.port, .init(identity: identity))
            if greets {
                attacker.greet()
                try await eventually("a second connection") { victim.phone.recorder.connectionCount == 2 }
            }
            attacker.write([0xFF, 0xFF, 0xFF, 0xFF, Record.Kind.stream.rawValue, 1, 2, 3])
            try await eventually("the end") { attacker.isClosed }
            if greets {
                #expect(victim.phone.recorder.reasons.first??.contains("4294967295") == true)
                #expect(attacker.goodbye == .protocolError)
                #expect(victim.phone.recorder.connectionCount == 2)
            } else {
                try await victim.refused(.protocolError)
                #expect(victim.phone.recorder.connectionCount == 1)
            }
            #expect(victim.watch.recorder.disconnectionCount == 0)
            await victim.close()
        }

        @Test("A flood of connections gets 4 places per address and 32 in all")
        func flood() async throws {
            let victim = try await Victim { $0.times.handshake = .seconds(600) }
            var attackers: [RawPeer] = []
            for _ in 0..<10 { attackers.append(try await RawPeer.connect(to: victim.port, nil)) }
            try await victim.refused(.tooManyConnections, count: 6)
            try await eventually("six closed") { attackers.count { $0.isClosed } == 6 }
            for host in 2...12 {
                for _ in 0..<4 {
                    attackers.append(try await RawPeer.connect(to: victim.port, nil, from: "127.0.0.\(host)"))
                }
            }
            // 4 connections are open. Of the next 44, 28 fit.
            try await victim.refused(.tooManyConnections, count: 6 + 16)
            try await eventually("the rest closed") { attackers.count { $0.isClosed } == 6 + 16 }
            #expect(try await victim.isUnaffected())
            for attacker in attackers { attacker.close() }
            // Their places are free again.
            let identity = PeerIdentity()
            try victim.phone.trust(identity.peerID)
            var greeted = false
            for _ in 0..<100 where !greeted {
                let friend = try await RawPeer.connect(to: victim.port, .init(identity: identity))
                friend.greet()
                try await eventually("an answer") { friend.hello != nil || friend.isClosed }
                greeted = friend.hello != nil
                friend.close()
            }
            #expect(greeted)
            await victim.close()
        }

        @Test("A paired peer that opens connection after connection and never greets gets 8 places")
        func provenFlood() async throws {
            // No handshake may time out before the last peer has connected.
            let victim = try await Victim { $0.times.handshake = .seconds(600) }
            let identity = PeerIdentity()
            try victim.phone.trust(identity.peerID)
            let before = openSockets()
            var attackers: [RawPeer] = []
            for _ in 0..<60 {
                let attacker = try await RawPeer.connect(to: victim.port, .init(identity: identity))
                try await eventually("a greeting or the end") { attacker.hello != nil || attacker.isClosed }
                attackers.append(attacker)
            }
            try await victim.refused(.tooManyConnections, count: 60 - 8)
            try await eventually("the end of the others") { attackers.count { !$0.isClosed } == 8 }
            // Both ends of each connection are in this process.
            try await eventually("the end of their sockets") { openSockets() <= before + 2 * 8 }
            #expect(try await victim.isUnaffected())
            // A peer that used all its places can free them, and is admitted again.
            for attacker in attackers { attacker.close() }
            try await eventually("the end of all") { attackers.allSatisfy(\.isClosed) && openSockets() <= before }
            let friend = try await RawPeer.connect(to: victim.port, .init(identity: identity))
            friend.greet()
            try await eventually("a second connection") { victim.phone.recorder.connectionCount == 2 }
            await victim.close()
        }

        @Test("A peer that pings and reads nothing makes at most one answer wait")
        func pings() {
            var outbox = Outbox(UDPLinkBounds())
            _ = outbox.enqueue(.ping)
            // The batch is with the system, which accepts no more.
            let batch = outbox.takeBatch()
            for _ in 0..<100_000 {
                _ = outbox.enqueue(.pong)
                _ = outbox.enqueue(.datagramsReceived)
            }
            let waiting = outbox.streamBytes
            #expect(waiting == 3 * Record.headerBytes)
            _ = outbox.wrote(batch.stream, datagramCount: 0)
            let next = outbox.takeBatch().stream.readableBytes
            #expect(next == 2 * Record.headerBytes)
            let isTaken = outbox.enqueue(.pong)
            #expect(isTaken)
        }

        /// The number of sockets of this process, or 0 if the system doesn't report it.
        private func openSockets() -> Int {
            let folder = "/proc/self/fd"
            let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
            return names.count {
                (try? FileManager.default.destinationOfSymbolicLink(atPath: "\(folder)/\($0)"))?
                    .hasPrefix("socket:") == true
            }
        }

        @Test("Spoofed discovery connects nothing, and doesn't prevent real connections")
        func spoofedDiscovery() async throws {
            let network = InMemoryNetwork()
            let (phone, watch) = try trustingPair(TestPeer(on: network), TestPeer(on: network))
            let stranger = try TestPeer().open()
            for number in 0..<40 {
                let port = number % 2 == 0 ? try #require(stranger.link.port) : 9
                network.spoof(Self.service(claiming: watch.id, "spoofed \(number)", at: port))
                network.spoof(Self.service(claiming: phone.id, "spoofed too \(number)", at: port))
            }
            try phone.open()
            try watch.open()
            try await eventually("a connection") {
                phone.recorder.isConnected && watch.recorder.isConnected
            }
            #expect(phone.recorder.peerIDs == [watch.id.description])
            #expect(!stranger.recorder.isConnected)
            for peer in [phone, watch, stranger] { await peer.link.close() }
        }

        @Test("A cloned identity is rejected by the original and reported on both")
        func clonedIdentity() async throws {
            let victim = try await Victim()
            let clone = TestPeer(victim.phone.identity, manual: [victim.phone.place])
            try clone.open()
            try await victim.refused(.clonedIdentity)
            try await eventually("the clone's error") { clone.codes.contains(.clonedIdentity) }
            #expect(!clone.recorder.isConnected)
            #expect(try await victim.isUnaffected())
            await clone.link.close()
            await victim.close()
        }

        @Test("Two devices that take turns under one identity are detected")
        func clonesTakeTurns() async throws {
            let watch = try TestPeer().open()
            let identity = PeerIdentity()
            try watch.trust(identity.peerID)
            let port = try #require(watch.link.port)
            for (count, startID) in [(1, UInt64(1)), (2, 2)] {
                try await RawPeer.connect(to: port, .init(identity: identity)).greet(startID: startID)
                try await eventually("a connection") { watch.recorder.connectionCount == count }
            }
            let again = try await RawPeer.connect(to: port, .init(identity: identity))
            again.greet(startID: 1)
            try await eventually("the refusal") { watch.codes.contains(.clonedIdentity) }
            try await eventually("a word") { again.goodbye == .clonedIdentity }
            #expect(watch.recorder.connectionCount == 2)
            await watch.link.close()
        }

        @Test("A renewed certificate of the same key is accepted")
        func renewedCertificate() async throws {
            let watch = try TestPeer().open()
            let identity = PeerIdentity()
            try watch.trust(identity.peerID)
            let certificates = [try identity.makeCertificate(), try identity.makeCertificate()]
            #expect(certificates[0] != certificates[1])
            for (count, certificate) in certificates.enumerated() {
                let peer = try await RawPeer.connect(
                    to: try #require(watch.link.port), .init(identity: identity, certificate: certificate))
                peer.greet(startID: UInt64(count))
                try await eventually("a connection") { watch.recorder.connectionCount == count + 1 }
            }
            await watch.link.close()
        }

        @Test(
            "With a pinned key, a clock outside the certificate's dates doesn't matter", arguments: [-50.0, 50])
        func wrongClock(years: Double) async throws {
            let watch = try TestPeer().open()
            let identity = PeerIdentity()
            try watch.trust(identity.peerID)
            let certificate = try identity.makeCertificate(
                validFrom: Date(timeIntervalSinceNow: years * 365 * 86_400), validity: .seconds(86_400))
            let peer = try await RawPeer.connect(
                to: try #require(watch.link.port), .init(identity: identity, certificate: certificate))
            peer.greet()
            try await eventually("a connection") { watch.recorder.isConnected }
            #expect(watch.refusals.isEmpty)
            await watch.link.close()
        }

        static func service(claiming peer: PeerID, _ label: String, at port: UInt16) -> FoundService {
            let announcement = PeerAdvertisement.announcement(of: peer, label: label, startID: 5, port: port)
            return FoundService(
                instance: label, port: port, addresses: [ServiceAddress(ip: .v4(0x7F00_0001), interfaceIndex: 1)],
                attributes: announcement.attributes)
        }
    }
#endif
