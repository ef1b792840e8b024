#if MQTT
    public import MeshBase
    // Exported, because it declares the transport's type.
    @_exported public import MeshRelay
    public import MeshSecurity
    public import MeshTransport

    /// The identity, trusted peers and broker of a link.
    public struct MQTTLinkConfiguration: Sendable {
        /// The identity of this peer.
        public var identity: PeerIdentity
        /// The peers to connect to, in addition to guests.
        public var trustedPeers: TrustedPeers
        /// The broker at which the peers meet.
        public var broker: MQTTBroker
        /// The time for which the broker keeps messages for this peer while it is away.
        public var sessionExpiry = Duration.seconds(7 * 86_400)
        /// Maximum time for a peer to answer a probe before it counts as gone. Peers are probed when their will
        /// arrives, or after 30 s without a message. A time below the round trip through the broker disconnects present
        /// peers.
        public var answerTime = Duration.seconds(4)
        /// Creates a client other than libmosquitto's; nil for libmosquitto's.
        public var makeClient: (@Sendable () throws -> any RelayClient)?

        /// Creates a configuration with defaults for everything else.
        public init(identity: PeerIdentity, trustedPeers: TrustedPeers, broker: MQTTBroker) {
            self.identity = identity
            self.trustedPeers = trustedPeers
            self.broker = broker
        }

        /// The ID under which the broker keeps this peer's session. Any client with this ID can take the session over,
        /// but it gets only sealed messages.
        public var clientID: String { "sessionmesh-\(identity.peerID.description.prefix(32))" }
    }

    extension MQTTLinkConfiguration: RelayLinkConfiguration {
        public var lanes: [LinkLane: PayloadLimit] {
            [.datagram: .mqttDatagram, .queue: .mqttMessage, .latest: .mqttMessage]
        }

        /// Creates a client: libmosquitto's, or the one of `makeClient`.
        /// - Throws: `MQTTError`; errors of `makeClient`.
        public func relayClient() throws -> any RelayClient {
            try broker.requireSafePassword()
            return try makeClient?()
                ?? MosquittoClient(broker: broker, clientID: clientID, sessionExpiry: sessionExpiry)
        }
    }

    /// A transport between paired peers that meet at an MQTT broker. The peers may be on any network.
    ///
    /// ```swift
    /// let transport = try MQTTSessionSyncTransport(
    ///     configuration: MQTTLinkConfiguration(
    ///         identity: identity, trustedPeers: peers, broker: MQTTBroker(host: "home.example")))
    /// let game = SharedSession(Score(), over: transport)
    /// ```
    public typealias MQTTSessionSyncTransport = RelaySessionSyncTransport

    extension PayloadLimit {
        /// Maximum size of a sealed message on the lanes `queue` and `latest`. It fits AWS IoT Core, but exceeds Azure
        /// Event Grid's limit for retained messages.
        public static let mqttMessage = PayloadLimit(
            id: "mqtt.message", bytes: 130_000, summary: "Message through an MQTT broker, sealed",
            source: "AWS IoT Core's 131,072 bytes, less sealing (91) and the topic")

        /// Maximum size of a sealed packet on the lane `datagram`.
        public static let mqttDatagram = PayloadLimit(
            id: "mqtt.datagram", bytes: 60_000, summary: "QoS 0 message through an MQTT broker, sealed",
            source: "the maximum of SealedDatagrams, rounded down")

        /// The largest messages that brokers accept in their default configuration.
        public static let mqttBrokers = [
            PayloadLimit(
                id: "mqtt.broker.aws-iot", bytes: 131_072, summary: "AWS IoT Core, a message's payload",
                source: "aws.amazon.com/blogs/iot, Securely ingesting large-sized payloads: 128 KB, a hard limit"),
            PayloadLimit(
                id: "mqtt.broker.azure-event-grid.retained", bytes: 65_536,
                summary: "Azure Event Grid, a retained message",
                source: "learn.microsoft.com/azure/event-grid/mqtt-retain: 64 KB; less than the lane latest accepts"),
            PayloadLimit(
                id: "mqtt.broker.emqx", bytes: 1_048_576, summary: "EMQX, a packet, by default",
                source: "docs.emqx.com/en/emqx/latest/guides/configuration/mqtt.md: max_packet_size = 1MB"),
            PayloadLimit(
                id: "mqtt.broker.mosquitto", bytes: 268_435_455, summary: "Mosquitto, a payload, by default",
                source: "mosquitto.conf(5): message_size_limit 0 is MQTT's own limit, 268,435,455 bytes"),
            PayloadLimit(
                id: "mqtt.broker.hivemq-edge", bytes: 268_435_460, summary: "HiveMQ Edge, a packet, by default",
                source: "docs.hivemq.com/hivemq-edge/mqtt-specific-configuration.html: max packet size"),
        ]
    }
#endif
