#if MQTT
    import MeshSecurity
    import Testing

    @testable import MeshMQTTTransport

    @Suite struct MQTTPasswordTests {
        private func broker(_ url: String) throws -> MQTTBroker { try #require(MQTTBroker(url: url)) }

        @Test(arguments: [
            "mqtt://me:hush@broker.example", "mqtt://me:hush@10.0.0.7", "mqtt://me:hush@127.0.0.1.example",
        ])
        func `A password that would leave this machine in clear text is refused everywhere`(url: String) throws {
            let broker = try broker(url)
            let identity = PeerIdentity()
            var refusals: [MQTTError] = []
            for attempt in [
                { _ = try MosquittoClient(broker: broker, clientID: "id") },
                {
                    _ = try MQTTLinkConfiguration(identity: identity, trustedPeers: TrustedPeers(), broker: broker)
                        .relayClient()
                },
                {
                    _ = try MQTTPairing(
                        identity: identity, trustedPeers: TrustedPeers(), name: "a", secret: PairingSecret(),
                        broker: broker)
                },
            ] as [() throws -> Void] {
                do { try attempt() } catch let error as MQTTError { refusals.append(error) }
            }
            #expect(refusals.map(\.code) == [.invalidArgument, .invalidArgument, .invalidArgument])
            for refusal in refusals {
                #expect(refusal.message.contains("clear text"))
                #expect(!"\(refusal)".contains("hush"))
            }
        }

        @Test(arguments: [
            "mqtts://me:hush@broker.example", "mqtt://me@broker.example", "mqtt://me:hush@127.0.0.1",
            "mqtt://me:hush@[::1]", "mqtt://me:hush@localhost",
        ])
        func `With TLS, on this machine and without a password there is nothing to refuse`(url: String) throws {
            try broker(url).requireSafePassword()
        }

        @Test(arguments: ["mqtt://h:65536", "mqtt://h:99999", "mqtt://h:0", "mqtt://h:-1"])
        func `A port that no system has is refused`(url: String) { #expect(MQTTBroker(url: url) == nil) }
    }
#endif
