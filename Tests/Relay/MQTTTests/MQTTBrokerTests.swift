#if MQTT
    import Foundation
    import MeshBase
    import MeshMQTTLab
    @testable import MeshRelay
    import MeshSecurity
    import MeshTestSupport
    import MeshTransport
    import Testing

    @testable import MeshMQTTTransport

    /// Behavior of brokers and unknown clients, with a real Mosquitto.
    @Suite(.serialized, .enabled(if: MosquittoBroker.isInstalled, "needs mosquitto")) struct MQTTBrokerTests {
        private let words = (1...10).map { Array("secret message \($0)".utf8) }

        @Test func `A broker that restarts with its sessions delivers messages queued before`() async throws {
            let party = try await BrokerParty(["persistence true"])
            try party.open(0)
            try await eventually("the other to be found") { party.ears[0].heard.isFound }
            for word in words { try await party.send(word, on: .queue) }
            party.broker.stop()
            try party.broker.start()
            try party.open(1)
            try await eventually("all words") { party.ears[1].packets(on: .queue).count >= words.count }
            #expect(party.ears[1].packets(on: .queue) == words)
            await party.close()
        }

        @Test func `A broker that restarts without its sessions is found again, and so are the peers`()
            async throws
        {
            let party = try await BrokerParty(["persistence false"])
            try await party.meet()
            party.broker.kill()
            try party.broker.start()
            try await eventually("both to be connected again") {
                party.ears.allSatisfy { $0.heard.connections >= 2 }
            }
            for word in words { try await party.send(word, on: .queue) }
            try await eventually("all words") { party.ears[1].packets(on: .queue).count >= words.count }
            #expect(party.ears[1].packets(on: .queue) == words)
            await party.close()
        }

        @Test func `A peer whose client ID was taken over reconnects and gets later messages`()
            async throws
        {
            let party = try await BrokerParty()
            try await party.meet()
            let thief = try await Stranger(at: party.broker.broker, as: party.clientIDs[1], filter: nil)
            await thief.close()
            try await eventually("the peer to be back") { party.ears[1].heard.connections >= 2 }
            for word in words { try await party.send(word, on: .queue) }
            try await eventually("all words") { Set(party.ears[1].packets(on: .queue)).isSuperset(of: words) }
            await party.close()
        }

        @Test func `Peers meet in a process that has more than 1,024 files open`() async throws {
            DescriptorLimit.raise(to: 8192)
            let files = try (0..<1100).map { _ in try #require(FileHandle(forReadingAtPath: "/dev/null")) }
            let party = try await BrokerParty()
            try await party.meet()
            try await party.send(words[0], on: .queue)
            try await eventually("a word") { party.ears[1].packets(on: .queue) == [words[0]] }
            await party.close()
            for file in files { try file.close() }
        }

        private func refusals(of party: BrokerParty) -> (Locked<[String]>, Task<Void, Never>) {
            let refusals = Locked<[String]>([])
            let subscription = party.diagnostics.subscribe()
            let reader = Task {
                for await event in subscription {
                    if case .rejected(_, let reason) = event { refusals.withLock { $0.append(reason) } }
                }
            }
            return (refusals, reader)
        }

        @Test(arguments: [
            ("max_packet_size 600", "packets of at most 600 bytes"),
            ("max_inflight_messages 3", "3 messages at a time"),
        ])
        func `A limit of the broker that is too small is reported once, when it accepts the connection`(
            setting: String, expected: String
        ) async throws {
            let party = try await BrokerParty([setting], isKnown: false)
            let (events, reader) = refusals(of: party)
            try party.open(0)
            try await eventually("a report of the limit") {
                events.withLock { $0.contains { $0.contains(expected) } }
            }
            party.links[0].drop()
            try await eventually("the next connection") { events.withLock { $0.count >= 2 } }
            #expect(events.withLock { $0.count { $0.contains(expected) } } == 1)
            await party.close()
            reader.cancel()
        }

        @Test(arguments: [
            ("allow_anonymous false", "Not authorized"), ("retain_available false", "doesn't keep retained messages"),
            ("max_qos 0", "QoS 0 only"),
        ])
        func `A broker's refusal is reported with its own reason only`(
            setting: String, expected: String
        ) async throws {
            let party = try await BrokerParty([setting], isKnown: false)
            let (events, reader) = refusals(of: party)
            try party.open(0)
            try await eventually("three refusals") { events.withLock { $0.count >= 3 } }
            let reported = events.withLock { $0 }
            #expect(
                reported.allSatisfy { $0.contains("refuses the connection: ") && $0.contains(expected) }, "\(reported)")
            await party.close()
            reader.cancel()
        }

        @Test func `A forbidden topic is reported, and the link continues`() async throws {
            let rules = FileManager.default.temporaryDirectory.appending(path: "mesh-acl-\(UUID().uuidString)")
            defer { try? FileManager.default.removeItem(at: rules) }
            try Data("topic readwrite #\ntopic deny sessionmesh/1/+/from/+/queue\n".utf8).write(to: rules)
            let party = try await BrokerParty(["acl_file \(rules.path)"])
            let (events, reader) = refusals(of: party)
            try await party.meet()
            try await party.send(words[0], on: .queue)
            try await eventually("a report of the refusal") {
                events.withLock { $0.contains { $0.contains("refuses a message") } }
            }
            try await party.send(words[1], on: .latest)
            try await eventually("what is allowed") { party.ears[1].packets(on: .latest) == [words[1]] }
            #expect(party.ears[1].packets(on: .queue) == [])
            await party.close()
            reader.cancel()
        }

        @Test func `Messages that a stranger retained under the peers' names are rejected`() async throws {
            let party = try await BrokerParty(isKnown: false)
            let stranger = try await Stranger(at: party.broker.broker)
            let key = PeerIdentity()
            let presence = RelayPresence(
                isHere: true, token: [UInt8](repeating: 1, count: 16),
                key: try OwnKey(key).compressedPublicKey)
            for topic in [
                RelayTopic.presence(party.ids[0]), .queue(to: party.ids[1], from: party.ids[0]),
                .latest(to: party.ids[1], from: party.ids[0], key: "feature"),
                .datagram(to: party.ids[1], from: party.ids[0]), .hello(to: party.ids[1], from: party.ids[0]),
            ] {
                try await stranger.publish(RelayMessage(topic: topic.name, bytes: presence.bytes, isRetained: true))
            }
            try await party.meet()
            try await party.send(words[0], on: .queue)
            try await eventually("the first genuine message") { party.ears[1].packets(on: .queue).count >= 1 }
            #expect(party.ears[1].heard.packets == [.queue: [words[0]]])
            #expect(party.links[1].statistics.forged > 0)
            await party.close()
            await stranger.close()
        }

        @Test func `A stranger at the broker reads no plaintext, and messages that it repeats or changes are rejected`()
            async throws
        {
            let party = try await BrokerParty()
            let stranger = try await Stranger(at: party.broker.broker)
            try await party.meet()
            for lane in [LinkLane.queue, .latest, .datagram] { try await party.send(words[0], on: lane) }
            try await eventually("a word on each lane") { party.ears[1].heard.packets.count == 3 }
            try await eventually("the stranger to have seen them") {
                ["queue", "latest", "datagram"].allSatisfy { part in
                    stranger.seen.contains { $0.topic.contains(part) }
                }
            }
            let seen = stranger.seen
            for message in seen {
                #expect(!String(decoding: message.bytes, as: UTF8.self).contains("nobody else"))
                #expect(!message.topic.contains("feature"))
            }
            let before = party.ears.map(\.heard.packets)
            for var message in seen where !message.topic.hasSuffix("presence") {
                message.isRetained = message.topic.contains("latest")
                try await stranger.publish(message)
                for index in stride(from: 0, to: message.bytes.count, by: 29) {
                    var changed = message
                    changed.bytes[index] ^= 0x55
                    try await stranger.publish(changed)
                }
            }
            try await party.send(words[1], on: .queue)
            try await eventually("the next genuine message") { party.ears[1].packets(on: .queue).last == words[1] }
            var expected = before[1]
            expected[.queue]?.append(words[1])
            #expect(party.ears[1].heard.packets == expected)
            #expect(party.ears[0].heard.packets == before[0])
            #expect(party.links[1].statistics.forged > 0 && party.links[1].statistics.replayed > 0)
            await party.close()
            await stranger.close()
        }

        @Test func `A live peer that a will reports as gone announces itself and stays connected`()
            async throws
        {
            let party = try await BrokerParty()
            let stranger = try await Stranger(at: party.broker.broker)
            try await party.meet()
            let topic = RelayTopic.presence(party.ids[1]).name
            func last() -> [UInt8]? { stranger.seen.last { $0.topic == topic }?.bytes }
            try await eventually("its presence") { last()?.first == 1 }
            let here = try #require(last())
            let count = stranger.seen.count { $0.topic == topic }
            var gone = here
            gone[0] = 0
            try await stranger.publish(RelayMessage(topic: topic, bytes: gone, isRetained: true))
            try await eventually("its presence") {
                stranger.seen.count { $0.topic == topic } >= count + 2 && last() == here
            }
            try await party.send(words[0], on: .datagram)
            try await eventually("a live word") { party.ears[1].packets(on: .datagram) == [words[0]] }
            #expect(party.ears.map(\.heard.partings) == [0, 0])
            await party.close()
            await stranger.close()
        }
    }
#endif
