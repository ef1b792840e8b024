#if MQTT || WebSocket
    import MeshSecurity
    import MeshTransport
    import Testing

    @testable import MeshRelay

    /// Two peers and a broker in memory, in virtual time.
    struct RelayLinkCoreTests {
        private struct Network {
            var cores: [RelayLinkCore]
            var retained: [String: [UInt8]] = [:]
            var handled: [[RelayLinkCore.Directive]]
            var published: [RelayMessage] = []
            var now = Duration.seconds(1)
            var ticksWhenDue = false
            var tickCount = 0
            /// True for messages that are lost.
            var loses: (RelayMessage) -> Bool = { _ in false }

            init() throws {
                cores = try (0..<2).map { _ in
                    try RelayLinkCore(
                        own: OwnKey(PeerIdentity()), limits: [.datagram: 60_000, .queue: 130_000, .latest: 130_000],
                        answerTime: .seconds(4))
                }
                handled = [[], []]
                let ids = cores.map(\.own.id)
                for index in 0..<2 { cores[index].trust([ids[1 - index]]) }
            }

            mutating func meet() {
                for index in 0..<2 {
                    _ = cores[index].willConnect(token: [UInt8](repeating: UInt8(index), count: 16))
                    cores[index].relayConnected()
                    run()
                    cores[index].subscribed(now)
                    run()
                }
            }

            /// Runs until neither peer has anything to send.
            mutating func run() {
                while true {
                    let all = (0..<2).map { cores[$0].takeDirectives() }
                    guard all.contains(where: { !$0.isEmpty }) else { return }
                    for (index, directives) in all.enumerated() {
                        for directive in directives { perform(directive, index) }
                    }
                }
            }

            private mutating func perform(_ directive: RelayLinkCore.Directive, _ index: Int) {
                switch directive {
                case .publish(let message): publish(message)
                case .subscribe(let filters):
                    for filter in filters { if let bytes = retained[filter] { deliver(bytes, filter, to: index) } }
                default: handled[index].append(directive)
                }
            }

            mutating func publish(_ message: RelayMessage) {
                published.append(message)
                guard !loses(message) else { return }
                if message.isRetained { retained[message.topic] = message.bytes }
                for index in 0..<2 { deliver(message.bytes, message.topic, to: index) }
            }

            mutating func deliver(_ bytes: [UInt8], _ topic: String, to index: Int) {
                let now = now
                bytes.withUnsafeBytes { cores[index].received($0, on: topic, now) }
            }

            mutating func wait(_ duration: Duration) {
                let end = now + duration
                while now < end {
                    now += .milliseconds(250)
                    for index in 0..<2 where !ticksWhenDue || cores[index].dueAt.map({ $0 <= now }) == true {
                        cores[index].tick(now)
                        tickCount += 1
                    }
                    run()
                }
            }

            func id(_ index: Int) -> PeerID { cores[index].own.id }
            func connections(_ index: Int) -> Int { handled[index].count { $0 == .connected(id(1 - index)) } }
            func partings(_ index: Int) -> Int {
                handled[index].count { if case .disconnected = $0 { true } else { false } }
            }
        }

        @Test func `Two present peers connect once and exchange packets on every lane`() throws {
            var network = try Network()
            network.meet()
            #expect(network.connections(0) == 1 && network.connections(1) == 1)
            #expect(network.handled[0].first == .found(network.id(1)))
            for lane in [LinkLane.datagram, .queue, .latest] {
                let packet = LinkPacket(lane: lane, bytes: Array("plain text".utf8), key: "feature")
                network.publish(try network.cores[0].seal(packet, to: network.id(1)))
                network.run()
                #expect(network.handled[1].last == .received(packet.bytes, lane, network.id(0)))
            }
            network.wait(.seconds(60))
            #expect(network.partings(0) == 0 && network.partings(1) == 0)
        }

        @Test func `A packet that can't be sealed isn't counted as sent`() throws {
            var network = try Network()
            network.meet()
            let (peer, packet) = (network.id(1), LinkPacket(lane: .datagram, bytes: [1], key: ""))
            _ = try network.cores[0].seal(packet, to: peer)
            network.cores[0].relayDisconnected()
            #expect(throws: LinkError.self) { _ = try network.cores[0].seal(packet, to: peer) }
            #expect(network.cores[0].statistics.packetsSent == 1)
        }

        @Test func `A returning peer is greeted soon, however long it was silent`() throws {
            var network = try Network()
            let ids = (0..<2).map(network.id)
            let greetings = [RelayTopic.hello(to: ids[0], from: ids[1]), .hello(to: ids[1], from: ids[0])].map(\.name)
            network.loses = { greetings.contains($0.topic) }
            network.meet()
            network.wait(.seconds(60))
            network.cores[1].relayDisconnected()
            _ = network.cores[1].willConnect(token: [UInt8](repeating: 7, count: 16))
            network.cores[1].relayConnected()
            network.run()
            network.cores[1].subscribed(network.now)
            network.run()
            network.loses = { _ in false }
            #expect(network.connections(0) == 0)
            network.wait(.seconds(3))
            #expect(network.connections(0) == 1 && network.connections(1) == 1)
        }

        /// A relay may deliver a peer's stored messages before that peer's presence. Delivery drops messages from a
        /// peer that the link hasn't found, and the relay doesn't repeat them.
        @Test(arguments: [LinkLane.queue, .latest])
        func `A peer whose presence hasn't arrived is found by its sealed message, which is delivered`(lane: LinkLane)
            throws
        {
            var network = try Network()
            let key = try #require(PeerKey(network.cores[1].own.compressedPublicKey, of: network.id(1)))
            network.cores[0].learn(key, of: network.id(1))
            let message = try network.cores[0].seal(
                LinkPacket(lane: lane, bytes: [1], key: "feature"), to: network.id(1))
            var forged = message
            forged.bytes[forged.bytes.count - 1] ^= 1
            network.publish(forged)
            network.run()
            #expect(!network.handled[1].contains(.found(network.id(0))))
            network.publish(message)
            network.run()
            #expect(network.handled[1].suffix(2) == [.found(network.id(0)), .received([1], lane, network.id(0))])
            network.meet()
            #expect(network.handled[1].count { $0 == .found(network.id(0)) } == 1)
        }

        @Test
        func `A will that fires while the peer is present disconnects no peer, and the peer announces itself again`()
            throws
        {
            var network = try Network()
            network.meet()
            let topic = RelayTopic.presence(network.id(1)).name
            let here = try #require(network.retained[topic])
            var gone = here
            gone[0] = 0
            network.publish(RelayMessage(topic: topic, bytes: gone, isRetained: true))
            network.run()
            network.wait(.seconds(10))
            #expect(network.partings(0) == 0)
            #expect(network.retained[topic] == here)
        }

        @Test func `A peer that vanishes silently is considered gone once it doesn't answer`() throws {
            var network = try Network()
            network.meet()
            network.cores[1].relayDisconnected()
            _ = network.cores[1].takeDirectives()
            network.wait(.seconds(29))
            #expect(network.partings(0) == 0)
            network.wait(.seconds(6))
            #expect(network.partings(0) == 1)
        }

        /// Lets both sides exchange a delivery packet every 20 seconds, for ten minutes.
        private func idle(_ network: inout Network, each second: (inout Network, Int) -> Void = { _, _ in }) throws
            -> Int
        {
            let count = network.published.count
            for moment in 0..<600 {
                if moment % 20 == 0 {
                    for index in 0..<2 {
                        let packet = LinkPacket(lane: .datagram, bytes: [1])
                        network.publish(try network.cores[index].seal(packet, to: network.id(1 - index)))
                    }
                }
                second(&network, moment)
                network.run()
                network.wait(.seconds(1))
            }
            return network.published.count - count
        }

        @Test func `Two peers that receive each other's deliveries every 20 seconds publish nothing else`() throws {
            var network = try Network()
            network.meet()
            let count = try idle(&network)
            #expect(count == 60)
            #expect(network.partings(0) == 0 && network.partings(1) == 0)
        }

        @Test func `A peer of an earlier version, which probes after 10 seconds, is answered each time`() throws {
            var network = try Network()
            network.meet()
            let id = network.id(0)
            var (probed, answered) = (0, 0)
            _ = try idle(&network) { network, moment in
                guard moment % 20 == 10 else { return }
                network.cores[1].probe(id, network.now)
                network.run()
                probed += 1
                answered += network.cores[1].peers[id]?.deadline == nil ? 1 : 0
            }
            #expect(probed == 30 && answered == 30)
            #expect(network.partings(0) == 0 && network.partings(1) == 0)
        }

        @Test func `A core ticked only at its deadlines behaves like one ticked all the time`()
            throws
        {
            for isLossy in [false, true] {
                var networks = [try Network(), try Network()]
                networks[1].ticksWhenDue = true
                for index in networks.indices {
                    networks[index].meet()
                    if isLossy { networks[index].loses = { !$0.isAcknowledged } }
                    networks[index].wait(.seconds(120))
                }
                #expect(networks[0].partings(0) == networks[1].partings(0))
                #expect(networks[0].published.count == networks[1].published.count)
                #expect(isLossy || networks[1].tickCount < 20, "\(networks[1].tickCount) ticks in two minutes")
            }
        }

        @Test func `Two present peers that didn't receive each other for a while reconnect`() throws {
            var network = try Network()
            network.meet()
            network.loses = { !$0.isAcknowledged }
            network.wait(.seconds(35))
            #expect(network.partings(0) >= 1 && network.partings(1) >= 1)
            network.loses = { _ in false }
            network.wait(.seconds(30))
            for index in 0..<2 {
                #expect(network.connections(index) == network.partings(index) + 1)
                let packet = LinkPacket(lane: .datagram, bytes: [UInt8(index)])
                network.publish(try network.cores[index].seal(packet, to: network.id(1 - index)))
                network.run()
                #expect(network.handled[1 - index].last == .received(packet.bytes, .datagram, network.id(index)))
            }
        }

        @Test func `A presence that the broker lacks is published again, and one that it has isn't`() throws {
            var network = try Network()
            network.loses = { RelayTopic($0.topic).map { if case .presence = $0 { true } else { false } } ?? false }
            network.meet()
            network.wait(.seconds(3))
            #expect(network.connections(0) == 0)
            network.loses = { _ in false }
            network.wait(.seconds(30))
            #expect(network.connections(0) == 1 && network.connections(1) == 1)
            let count = network.published.count { $0.isRetained }
            network.wait(.seconds(60))
            #expect(network.published.count { $0.isRetained } == count)
        }

        @Test(arguments: 0..<30 as Range<UInt64>)
        func `Whatever a broker and a busy machine did before, two present peers connect`(seed: UInt64) throws {
            var network = try FaultyNetwork(seed: seed)
            network.wait(.seconds(120))
            network.recover()
            network.wait(.seconds(90))
            try #require(network.areConnected, "seed \(seed)")
            for index in 0..<2 { try network.send(UInt8(index), from: index) }
            network.wait(.seconds(1))
            #expect(network.received == [[[1]], [[0]]], "seed \(seed)")
        }

        @Test func `A stranger with access to every topic reads no plaintext and changes nothing`() throws {
            var network = try Network()
            network.meet()
            let secret = Array("a hidden plaintext".utf8)
            for lane in [LinkLane.datagram, .queue, .latest] {
                network.publish(
                    try network.cores[0].seal(LinkPacket(lane: lane, bytes: secret, key: "feature"), to: network.id(1)))
            }
            network.run()
            let seen = network.published
            for message in seen {
                #expect(!String(decoding: message.bytes, as: UTF8.self).contains("nobody else"))
                #expect(!message.topic.contains("feature"))
            }
            let before = network.handled
            // Repeats everything, alters each message in one place, and adds forged messages under the peers' names.
            for message in seen where RelayTopic(message.topic) != .presence(network.id(0)) {
                network.publish(message)
                for index in stride(from: 0, to: message.bytes.count, by: 7) {
                    var changed = message
                    changed.bytes[index] ^= 0x55
                    network.publish(changed)
                }
                network.publish(RelayMessage(topic: message.topic, bytes: secret, isRetained: true))
                network.run()
            }
            for index in 0..<2 {
                let news = network.handled[index].dropFirst(before[index].count)
                let isQuiet = news.allSatisfy { if case .report = $0 { true } else { false } }
                #expect(isQuiet, "peer \(index) was told \(news)")
            }
            let packet = LinkPacket(lane: .queue, bytes: [1], key: "")
            network.publish(try network.cores[0].seal(packet, to: network.id(1)))
            network.run()
            #expect(network.handled[1].last == .received([1], .queue, network.id(0)))
        }

        @Test func `A trusted peer's message beyond the lane's limit is rejected, and one at the limit isn't`()
            throws
        {
            var network = try Network()
            network.meet()
            let topic = RelayTopic.queue(to: network.id(1), from: network.id(0)).name
            let (sender, receiver) = (network.cores[0].own, network.cores[1].own)
            let key = try #require(PeerKey(receiver.compressedPublicKey, of: receiver.id))
            var sealer = try KeptSealer(from: sender, to: key)
            let most = [UInt8](repeating: 1, count: 130_000)
            network.publish(RelayMessage(topic: topic, bytes: try sealer.seal(most + [1], for: topic)))
            network.run()
            let hasHeard = network.handled[1].contains { if case .received = $0 { true } else { false } }
            #expect(!hasHeard)
            #expect(network.cores[1].statistics.forged == 1)
            network.publish(RelayMessage(topic: topic, bytes: try sealer.seal(most, for: topic)))
            network.run()
            #expect(network.handled[1].last == .received(most, .queue, network.id(0)))
        }

        @Test func `A message opens at no other topic of the same two peers`() throws {
            var network = try Network()
            network.meet()
            let message = try network.cores[0].seal(LinkPacket(lane: .latest, bytes: [1], key: "k"), to: network.id(1))
            let queue = RelayTopic.queue(to: network.id(1), from: network.id(0)).name
            let other = RelayTopic.latest(to: network.id(1), from: network.id(0), key: "0").name
            for topic in [queue, other] { network.publish(RelayMessage(topic: topic, bytes: message.bytes)) }
            network.run()
            #expect(network.cores[1].statistics.forged == 2)
            network.publish(message)
            network.run()
            #expect(network.handled[1].last == .received([1], .latest, network.id(0)))
        }

        @Test func `A peer that is no longer trusted is disconnected and can't send`() throws {
            var network = try Network()
            network.meet()
            network.cores[1].trust([])
            network.run()
            #expect(network.partings(1) == 1)
            let count = network.handled[1].count
            network.publish(try network.cores[0].seal(LinkPacket(lane: .queue, bytes: [1]), to: network.id(1)))
            network.run()
            #expect(network.handled[1].count == count)
        }

        @Test func `A revoked guest is disconnected`() throws {
            var network = try Network()
            for (index, other) in [(0, 1), (1, 0)] {
                network.cores[index].trust([])
                network.cores[index].admit(guests: [network.id(other)])
            }
            network.meet()
            #expect(network.handled[1].contains(.connectedAsGuest(network.id(0))))
            let id = network.id(0)
            network.cores[1].refuseGuests { $0 != id }
            network.run()
            #expect(network.partings(1) == 0)
            network.cores[1].refuseGuests { $0 == id }
            network.run()
            #expect(network.partings(1) == 1)
        }
    }
#endif
