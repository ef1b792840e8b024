#if MQTT
    import MeshMQTTLab
    @testable import MeshRelay
    import MeshSecurity
    import Testing

    @testable import MeshMQTTTransport

    struct MQTTPairingTests {
        /// Two peers that pair at a topic in memory, and all messages sent there.
        private struct Meeting {
            var cores: [MQTTPairingCore]
            var said: [[UInt8]] = []
            var paired: [[TrustedPeer]]

            init(_ secrets: [PairingSecret], ids: [PeerID]) {
                cores = zip(secrets, ids).enumerated().map { index, of in
                    MQTTPairingCore(secret: of.0, own: of.1, name: "device \(index)")
                }
                paired = cores.map { _ in [] }
            }

            mutating func come(_ index: Int) throws { try perform(cores[index].subscribed(), of: index) }

            mutating func hear(_ bytes: [UInt8], at index: Int) throws {
                let steps = try bytes.withUnsafeBytes { try cores[index].received($0, .zero) }
                try perform(steps, of: index)
            }

            private mutating func perform(_ steps: [MQTTPairingCore.Step], of speaker: Int) throws {
                for step in steps {
                    switch step {
                    case .paired(let peer): paired[speaker].append(peer)
                    case .publish(let bytes):
                        said.append(bytes)
                        for index in present where cores[index].topic == cores[speaker].topic {
                            try hear(bytes, at: index)
                        }
                    }
                }
            }

            /// The peers that have arrived.
            var present: [Int] = []
        }

        private let ids = (0..<3).map { _ in PeerIdentity().peerID }
        private let secret = PairingSecret()

        @Test(arguments: [[0, 1], [1, 0]])
        func `Two devices with the same secret pair in either order`(order: [Int]) throws {
            var meeting = Meeting([secret, secret], ids: ids)
            for index in order {
                meeting.present.append(index)
                try meeting.come(index)
            }
            #expect(meeting.paired[0] == [TrustedPeer(id: ids[1], name: "device 1")])
            #expect(meeting.paired[1] == [TrustedPeer(id: ids[0], name: "device 0")])
        }

        @Test func `A device with another secret receives nothing and can't open copied messages`() throws {
            var meeting = Meeting([secret, PairingSecret()], ids: ids)
            meeting.present = [0, 1]
            try meeting.come(0)
            try meeting.come(1)
            #expect(meeting.cores[0].topic != meeting.cores[1].topic)
            for bytes in meeting.said {
                try meeting.hear(bytes, at: 0)
                try meeting.hear(bytes, at: 1)
            }
            #expect(meeting.paired == [[], []])
        }

        @Test
        func
            `Messages that a broker repeats, changes, cuts or forges are ignored, and two devices pair in spite of them`()
            throws
        {
            var meeting = Meeting([secret, secret], ids: ids)
            meeting.present = [0]
            try meeting.come(0)
            for bytes in meeting.said {
                for index in bytes.indices {
                    var changed = bytes
                    changed[index] ^= 1
                    try meeting.hear(changed, at: 1)
                    try meeting.hear(Array(bytes[..<index]), at: 1)
                }
                // Reflects the message to its sender.
                try meeting.hear(bytes, at: 0)
            }
            try meeting.hear([UInt8](repeating: 1, count: MQTTPairingCore.bytesMax + 1), at: 1)
            #expect(meeting.said.count == 1)
            meeting.present = [0, 1]
            try meeting.come(1)
            for bytes in meeting.said { for index in [0, 1] { try meeting.hear(bytes, at: index) } }
            #expect(meeting.paired.map(\.count) == [1, 1])
        }

        @Test func `A third device with the secret is too late`() throws {
            var meeting = Meeting([secret, secret, secret], ids: ids)
            meeting.present = [0, 1]
            try meeting.come(0)
            try meeting.come(1)
            meeting.present = [0, 1, 2]
            try meeting.come(2)
            #expect(meeting.paired.map(\.count) == [1, 1, 0])
        }

        @Test func `Pairing messages reveal neither names nor IDs`() throws {
            var meeting = Meeting([secret, secret], ids: ids)
            meeting.present = [0, 1]
            try meeting.come(0)
            try meeting.come(1)
            for bytes in meeting.said {
                #expect(bytes.count <= MQTTPairingCore.bytesMax)
                #expect(!String(decoding: bytes, as: UTF8.self).contains("device"))
                for id in ids { #expect(!bytes.contains(id.bytes)) }
            }
        }

        @Test(.enabled(if: MosquittoBroker.isInstalled, "needs mosquitto"))
        func `Two devices pair at a real Mosquitto and trust each other`() async throws {
            let broker = try MosquittoBroker()
            let identities = [PeerIdentity(), PeerIdentity()]
            let trusted = [TrustedPeers(), TrustedPeers()]
            let pairings = try identities.indices.map { index in
                try MQTTPairing(
                    identity: identities[index], trustedPeers: trusted[index], name: "device \(index)",
                    secret: secret, broker: broker.broker, isOwn: index == 0)
            }
            async let first = pairings[0].run()
            async let second = pairings[1].run()
            let peers = try await [first, second]
            #expect(peers.map(\.name) == ["device 1", "device 0"])
            #expect(trusted.map { $0.peers.map(\.id) } == [[identities[1].peerID], [identities[0].peerID]])
            #expect(trusted.map { $0.peers.map(\.isOwn) } == [[true], [false]], "as each device's user has set")
            await #expect(throws: MQTTError.self) { try await pairings[0].run() }
        }

        @Test(.enabled(if: MosquittoBroker.isInstalled, "needs mosquitto"))
        func `Cancelling closes a window that no device has joined`() async throws {
            let broker = try MosquittoBroker()
            let pairing = try MQTTPairing(
                identity: PeerIdentity(), trustedPeers: TrustedPeers(), name: "alone", secret: secret,
                broker: broker.broker)
            let task = Task { try await pairing.run() }
            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.value }
        }
    }
#endif
