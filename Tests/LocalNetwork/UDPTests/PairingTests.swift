#if UDP
    import Foundation
    import MeshBase
    import MeshDiscovery
    import MeshLocalNetworkLab
    import MeshSecurity
    import MeshTestSupport
    import NIOCore
    import NIOPosix
    import NIOSSL
    import Testing

    @testable import MeshUDPTransport

    @Suite struct PairingTests {
        private struct Device: Sendable {
            let identity = PeerIdentity()
            let trusted = TrustedPeers()
            let name: String
            var regardsAsOwn = false

            func pairing(
                _ method: PairingExchange.Method, on network: InMemoryNetwork? = nil, at manual: UDPManualPeer? = nil,
                window: Duration = .seconds(30), handshake: Duration = .seconds(3)
            ) -> UDPPairing {
                var configuration = UDPPairingConfiguration(
                    identity: identity, trustedPeers: trusted, name: name, method: method,
                    discovery: network?.makeDiscovery(), manualPeer: manual, address: "127.0.0.1",
                    isOwn: regardsAsOwn, isAdministrator: regardsAsOwn)
                (configuration.window, configuration.handshake) = (window, handshake)
                return UDPPairing(configuration)
            }

            func trusts(_ other: Device) -> Bool { trusted.contains(other.identity.peerID) }
        }

        private static func outcome(_ body: () async throws -> TrustedPeer) async -> Result<
            TrustedPeer, UDPPairingError
        > {
            do {
                return .success(try await body())
            } catch let error as UDPPairingError {
                return .failure(error)
            } catch {
                return .failure(UDPPairingError(.failed, "\(error)"))
            }
        }

        private static func code(_ result: Result<TrustedPeer, UDPPairingError>) -> UDPPairingError.Code? {
            if case .failure(let error) = result { error.code } else { nil }
        }

        @Test("Two devices that find each other pair with six digits that both people confirm")
        func digits() async throws {
            let network = InMemoryNetwork()
            let (phone, watch) = (Device(name: "Phone", regardsAsOwn: true), Device(name: "Watch"))
            let codes = Locked<[String]>([])
            async let there = phone.pairing(.digits, on: network).run { question in
                codes.withLock { $0.append(question.code) }
                return question.peerID == watch.identity.peerID
            }
            async let back = watch.pairing(.digits, on: network).run { question in
                codes.withLock { $0.append(question.code) }
                return question.peerID == phone.identity.peerID
            }
            let (first, second) = try await (there, back)
            #expect(first.name == "Watch")
            #expect(second.name == "Phone")
            #expect(phone.trusts(watch))
            #expect(watch.trusts(phone))
            #expect(phone.trusted.isOwn(watch.identity.peerID.description), "as its user has set")
            #expect(!watch.trusted.isOwn(phone.identity.peerID.description))
            #expect(first.isAdministrator && !second.isAdministrator)
            let seen = codes.withLock { $0 }
            #expect(seen.count == 2)
            #expect(Set(seen).count == 1)
            #expect(seen[0].count == 6)
        }

        @Test("A device that can't trust another one doesn't let it pair either")
        func full() async throws {
            let (phone, watch) = (Device(name: "Phone"), Device(name: "Watch", regardsAsOwn: true))
            for number in 0..<UInt8(TrustedPeers.administratorsMax) {
                let id = PeerIdentity().peerID
                try watch.trusted.trust(
                    TrustedPeer(id: id, name: "\(number)", isOwn: true, isAdministrator: true))
            }
            let secret = PairingSecret()
            let waiting = watch.pairing(.secret(secret))
            async let back = Self.outcome { try await waiting.run() }
            try await eventually("a port") { waiting.port != nil }
            let place = UDPManualPeer(host: "127.0.0.1", port: try #require(waiting.port))
            let there = await Self.outcome { try await phone.pairing(.secret(secret), at: place).run() }
            #expect(Self.code(there) != nil)
            #expect(Self.code(await back) != nil)
            #expect(!phone.trusts(watch) && !watch.trusts(phone))
        }

        @Test("A device at a known address pairs with a secret, and is then admitted by a link")
        func secret() async throws {
            let (phone, watch) = (Device(name: "Phone"), Device(name: "Watch"))
            let secret = PairingSecret()
            let waiting = watch.pairing(.secret(secret))
            async let back = waiting.run()
            try await eventually("a port") { waiting.port != nil }
            let place = UDPManualPeer(host: "127.0.0.1", port: try #require(waiting.port))
            _ = try await phone.pairing(.secret(secret), at: place).run()
            _ = try await back
            #expect(phone.trusts(watch))
            #expect(watch.trusts(phone))
            let network = InMemoryNetwork()
            let links = [
                TestPeer(phone.identity, trusted: phone.trusted, on: network),
                TestPeer(watch.identity, trusted: watch.trusted, on: network),
            ]
            for link in links { try link.open() }
            try await eventually("a connection") { links.allSatisfy { $0.recorder.isConnected } }
            for link in links { await link.link.close() }
        }

        @Test("A device is also dialed at its second address")
        func laterAddress() async throws {
            let network = InMemoryNetwork()
            let (phone, watch) = (Device(name: "Phone"), Device(name: "Watch"))
            let secret = PairingSecret()
            // The watch finds no peer by itself. The phone finds it by the announcements below.
            let waiting = watch.pairing(.secret(secret))
            async let back = waiting.run()
            try await eventually("a port") { waiting.port != nil }
            let port = try #require(waiting.port)
            let announcement = PeerAdvertisement.announcement(
                of: watch.identity.peerID, label: "watch", startID: .max, port: port, isPairing: true)
            func announce(of addresses: [IPAddress]) {
                network.spoof(
                    FoundService(
                        instance: "watch", port: port,
                        addresses: addresses.map { ServiceAddress(ip: $0, interfaceIndex: 1) },
                        attributes: announcement.attributes))
            }
            // A public Internet address.
            announce(of: [.v4(0x0808_0808)])
            let asking = phone.pairing(.secret(secret), on: network)
            async let there = asking.run()
            try await eventually("a port") { asking.port != nil }
            try await Task.sleep(for: .milliseconds(200))
            announce(of: [.v4(0x7F00_0001)])
            _ = try await (there, back)
            #expect(phone.trusts(watch))
        }

        @Test("A device that has moved is dialed where it is")
        func movedAddress() async throws {
            let network = InMemoryNetwork()
            let (phone, watch) = (Device(name: "Phone"), Device(name: "Watch"))
            let secret = PairingSecret()
            func announce(of port: UInt16) {
                let announcement = PeerAdvertisement.announcement(
                    of: watch.identity.peerID, label: "watch", startID: .max, port: port, isPairing: true)
                network.spoof(
                    FoundService(
                        instance: "watch", port: port,
                        addresses: [ServiceAddress(ip: .v4(0x7F00_0001), interfaceIndex: 1)],
                        attributes: announcement.attributes))
            }
            // A port without a listener.
            announce(of: 9)
            let asking = phone.pairing(.secret(secret), on: network)
            async let there = asking.run()
            try await eventually("a port") { asking.port != nil }
            try await Task.sleep(for: .milliseconds(200))
            let waiting = watch.pairing(.secret(secret))
            async let back = waiting.run()
            try await eventually("a port") { waiting.port != nil }
            announce(of: try #require(waiting.port))
            _ = try await (there, back)
            #expect(watch.trusts(phone))
        }

        @Test("One refusal is enough: neither side trusts the other", arguments: [true, false])
        func refusal(phoneAgrees: Bool) async throws {
            let network = InMemoryNetwork()
            let (phone, watch) = (Device(name: "Phone"), Device(name: "Watch"))
            async let there = Self.outcome { try await phone.pairing(.digits, on: network).run { _ in phoneAgrees } }
            async let back = Self.outcome { try await watch.pairing(.digits, on: network).run { _ in !phoneAgrees } }
            let outcomes = await (there, back)
            #expect(Self.code(outcomes.0) == .declined)
            #expect(Self.code(outcomes.1) == .declined)
            #expect(!phone.trusts(watch))
            #expect(!watch.trusts(phone))
        }

        @Test("A window without a visitor closes by itself, and by cancelling")
        func windowCloses() async throws {
            let device = Device(name: "Phone")
            let late = await Self.outcome { try await device.pairing(.digits, window: .milliseconds(200)).run() }
            #expect(Self.code(late) == .timedOut)
            let pairing = device.pairing(.digits)
            let task = Task { await Self.outcome { try await pairing.run() } }
            try await eventually("an open window") { pairing.port != nil }
            task.cancel()
            #expect(Self.code(await task.value) == .cancelled)
            let again = await Self.outcome { try await pairing.run() }
            #expect(Self.code(again) == .alreadyRun)
        }

        // MARK: - Attacks

        @Test("After a failed pairing code, the window is closed")
        func secondTry() async throws {
            let watch = Device(name: "Watch")
            let (wrong, right) = (PairingSecret(), PairingSecret())
            let waiting = watch.pairing(.secret(right))
            async let back = Self.outcome { try await waiting.run() }
            try await eventually("a port") { waiting.port != nil }
            let place = UDPManualPeer(host: "127.0.0.1", port: try #require(waiting.port))
            let attacker = Device(name: "Attacker")
            let first = await Self.outcome { try await attacker.pairing(.secret(wrong), at: place).run() }
            #expect(first.error?.cause == .wrongSecret)
            // The attacker has learned that its code was wrong. Now it even has the right one.
            #expect(Self.code(await back) != nil)
            let second = await Self.outcome {
                try await attacker.pairing(.secret(right), at: place, window: .seconds(1)).run()
            }
            #expect(Self.code(second) == .timedOut)
            #expect(!watch.trusts(attacker))
            #expect(!attacker.trusts(watch))
        }

        @Test func `A device that proves a key and then sends nothing occupies the window for a short time only`()
            async throws
        {
            let (phone, watch) = (Device(name: "Phone"), Device(name: "Watch"))
            let context = try TLSPolicy(PeerIdentity(), protocols: [TLSPolicy.pairing]).server
            let count = Locked(0)
            let silent = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
                .childChannelInitializer { channel in
                    count.withLock { $0 += 1 }
                    return channel.eventLoop.makeCompletedFuture {
                        try channel.pipeline.syncOperations.addHandler(
                            NIOSSLServerHandler(
                                context: context,
                                customVerificationCallback: { _, promise in promise.succeed(.certificateVerified) }))
                    }
                }
                .bind(host: "127.0.0.1", port: 0).get()
            let silentPlace = UDPManualPeer(host: "127.0.0.1", port: UInt16(try #require(silent.localAddress?.port)))
            let secret = PairingSecret()
            let dialing = phone.pairing(.secret(secret), at: silentPlace, handshake: .seconds(1))
            async let there = dialing.run()
            try await eventually("a connection to the silent device") {
                count.withLock { $0 } > 0 && dialing.port != nil
            }
            let place = UDPManualPeer(host: "127.0.0.1", port: try #require(dialing.port))
            _ = try await watch.pairing(.secret(secret), at: place).run()
            _ = try await there
            #expect(phone.trusts(watch))
            #expect(watch.trusts(phone))
            try await silent.close()
        }

        @Test("Reflected pairing messages are rejected", arguments: [PairingExchange.Method.digits, nil])
        func reflected(method: PairingExchange.Method?) async throws {
            let method = method ?? .secret(PairingSecret())
            let watch = Device(name: "Watch")
            let waiting = watch.pairing(method)
            async let back = Self.outcome { try await waiting.run { _ in true } }
            try await eventually("a port") { waiting.port != nil }
            let attacker = try await RawPeer.connect(
                to: try #require(waiting.port), .init(identity: PeerIdentity(), protocols: [TLSPolicy.pairing]))
            // The attacker begins correctly, and then answers every message with that same message.
            var exchange = PairingExchange(
                method: method, role: .initiator, local: PeerIdentity().peerID, remote: watch.identity.peerID,
                localName: "Attacker", now: .zero)
            for case .send(let message) in try exchange.begin() {
                attacker.write([0, UInt8(message.count)] + message)
            }
            try await eventually("an answer") { !attacker.bytes.isEmpty }
            attacker.write(attacker.bytes)
            let outcome = await back
            #expect(outcome.error?.cause == .reflected)
            #expect(watch.trusted.peers.isEmpty)
            attacker.close()
        }

        @Test("A link rejects pairing, and a pairing window rejects sessions")
        func apart() async throws {
            let network = InMemoryNetwork()
            let watch = Device(name: "Watch")
            let waiting = watch.pairing(.digits, on: network, window: .seconds(3))
            async let back = Self.outcome { try await waiting.run { _ in true } }
            try await eventually("an announcement") { network.services.contains { $0["p"] != nil } }
            // A peer that trusts the device doesn't even dial the pairing window.
            let phone = TestPeer(on: network)
            try phone.trust(watch.identity.peerID)
            try phone.open()
            let attacker = try await RawPeer.connect(
                to: try #require(waiting.port), .init(identity: PeerIdentity(), protocols: [TLSPolicy.session]))
            try await eventually("the end") { attacker.isClosed }
            #expect(attacker.bytes.isEmpty)
            #expect(phone.link.statistics.dialCount == 0)
            #expect(Self.code(await back) == .timedOut)
            await phone.link.close()
        }
    }

    extension Result where Failure == UDPPairingError {
        fileprivate var error: UDPPairingError? { if case .failure(let error) = self { error } else { nil } }
    }
#endif
