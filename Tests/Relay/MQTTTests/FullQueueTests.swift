#if MQTT
    import Foundation
    import MeshBase
    import MeshDelivery
    import MeshIdentity
    import MeshMQTTLab
    import MeshRelay
    import MeshSecurity
    import MeshStorage
    import MeshTestSupport
    import MeshTransport
    import MeshWire
    import Testing

    @testable import MeshMQTTTransport

    /// A broker acknowledges messages that it then drops because a queue is full (Mosquitto's max_queued_messages).
    /// MQTT can't report that to the sender. Delivery numbers its messages and sends them again.
    @Suite(.serialized, .enabled(if: MosquittoBroker.isInstalled, "needs mosquitto")) struct FullQueueTests {
        private let settings = ["max_queued_messages 5", "sys_interval 1"]

        @Test func `A link's queue is as long as the broker's, and later messages are lost silently`()
            async throws
        {
            let party = try await BrokerParty(settings)
            try party.open(0)
            try await eventually("the other to be found") { party.ears[0].heard.isFound }
            let words = (0..<UInt8(60)).map { [$0] }
            for word in words { try await party.send(word, on: .queue) }
            try party.open(1)
            try await eventually("both to be connected") { party.ears.allSatisfy { $0.heard.connections > 0 } }
            let last: [UInt8] = [99]
            try await party.send(last, on: .queue)
            try await eventually("the last word") { party.ears[1].packets(on: .queue).last == last }
            let came = party.ears[1].packets(on: .queue).dropLast()
            #expect(Array(came) == Array(words.prefix(came.count)))
            #expect(came.count < words.count)
            await party.close()
        }

        @Test func `Messages that a broker drops because a queue is full still arrive, once and in order`() async throws
        {
            let broker = try MosquittoBroker(["allow_anonymous true"] + settings)
            let configurations = try LinkFixture.configurations([PeerIdentity(), PeerIdentity()], broker.broker)
            let stores = [MemoryStore(), MemoryStore()]
            func transport(_ index: Int) throws -> MQTTSessionSyncTransport {
                try MQTTSessionSyncTransport(
                    configuration: configurations[index], appInstanceID: "\(index)", store: stores[index])
            }
            let phone = try transport(0)
            let watch = try transport(1)
            for transport in [phone, watch] { try transport.start() }
            try await eventually("both to know each other") { !phone.knownPeers.isEmpty && !watch.knownPeers.isEmpty }
            await watch.close()

            let count: UInt64 = 40
            let session = UUID()
            for sequence in 1...count {
                let metadata = SessionSyncMetadata(
                    sessionID: session, featureID: "test", sourcePeerID: phone.localPeer.id, sequence: sequence,
                    causalTimestamp: Date(), payloadType: "test")
                let envelope = SessionSyncEnvelope(metadata: metadata, payload: [UInt8](repeating: 1, count: 10_000))
                try await phone.send(AnySessionSyncEnvelope(envelope), mode: .reliableEventually, to: nil)
            }
            let statistics = try await Stranger(at: broker.broker, filter: "$SYS/broker/publish/messages/dropped")
            try await eventually("the broker to drop something") {
                statistics.seen.contains { Int(String(decoding: $0.bytes, as: UTF8.self)) ?? 0 > 0 }
            }

            let again = try transport(1)
            let incoming = again.receiveEnvelopes()
            try again.start()
            let sequences = await patiently {
                var sequences: [UInt64] = []
                for await envelope in incoming {
                    sequences.append(envelope.metadata.sequence)
                    if sequences.count == Int(count) { break }
                }
                return sequences
            }
            #expect(sequences == Array(1...count))
            await statistics.close()
            for transport in [phone, again] { await transport.close() }
        }
    }
#endif
