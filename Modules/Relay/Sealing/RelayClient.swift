#if MQTT || WebSocket
    public import MeshTransport

    /// A connection to a relay: an untrusted service that passes messages between peers that can't reach each other.
    /// The relay is an MQTT broker (`MosquittoClient`, MeshMQTTTransport), a gateway (`GatewayRelayClient`,
    /// MeshGatewayTransport) or your own. Messages go to topics (`RelayTopic`). For an absent peer the relay keeps
    /// acknowledged messages, and the newest message of each retained topic.
    ///
    /// Requirements for implementers:
    /// - Messages kept for this peer must outlive connections (MQTT: no clean start, and a session expiry).
    /// - After a lost connection the client must reconnect by itself, with backoff.
    /// - `publish` must never block, and must keep the order of messages on a topic.
    /// - The client must not call the observer while it holds a lock that `publish` takes.
    public protocol RelayClient: AnyObject, Sendable {
        /// The relay's address for display, without secrets.
        var address: String { get }
        /// Starts connecting, and reconnects until `close`. Called once. Must return soon.
        /// - Throws: An error if the configuration can never lead to a connection.
        func open(_ observer: any RelayClientObserver) throws
        /// Subscribes to topics; a last level `#` means all topics below. The link calls it on each connection with all
        /// topics, and later with new ones.
        func subscribe(to topics: [String])
        /// Ends the subscription of topics.
        func unsubscribe(from topics: [String])
        /// Publishes a message on its topic.
        ///
        /// - Throws: `LinkError`: `full` without a connection or capacity, in which case `writable` follows;
        ///   `oversized`; `closed`.
        func publish(_ message: RelayMessage) throws(LinkError)
        /// Breaks the connection, as a lost network does. The client reconnects.
        func drop()
        /// Waits up to about a second for the relay to acknowledge pending messages, then closes the connection
        /// properly. Doesn't call the observer after it has returned. Idempotent.
        func close() async
    }

    /// The receiver of a client's events. The client calls it from any thread, one call at a time.
    public protocol RelayClientObserver: AnyObject, Sendable {
        /// Returns the message that the relay publishes if the next connection is lost.
        func nextWill() -> RelayMessage
        /// Reports that the relay has accepted the connection.
        func connected()
        /// Reports that the relay has answered a subscription. It delivers the granted topics from now on.
        func subscribed()
        /// Reports a message on a topic. The bytes are valid only during the call.
        func received(_ bytes: UnsafeRawBufferPointer, on topic: String)
        /// Reports that messages can be published again, after `publish` threw `full`.
        func writable()
        /// Reports that the relay refused a message, a subscription or a connection.
        func refused(_ reason: String)
        /// Reports that the connection has ended. The client reconnects.
        func disconnected(_ reason: String)
    }

    /// A message for a relay to publish.
    public struct RelayMessage: Hashable, Sendable {
        /// The topic of the message, readable by the relay.
        public var topic: String
        /// The content of the message, opaque to the relay.
        public var bytes: [UInt8]
        /// True if the relay keeps the message until it has arrived (MQTT: QoS 1). Otherwise it may be lost (QoS 0).
        public var isAcknowledged: Bool
        /// True if the relay keeps the topic's newest message for later subscribers.
        public var isRetained: Bool
        /// The time in seconds after which the relay drops the message; nil for never.
        public var expirySeconds: UInt32?

        /// Creates a message for the relay. By default it is acknowledged, isn't retained and never expires.
        public init(
            topic: String, bytes: [UInt8], isAcknowledged: Bool = true, isRetained: Bool = false,
            expirySeconds: UInt32? = nil
        ) {
            self.topic = topic
            self.bytes = bytes
            self.isAcknowledged = isAcknowledged
            self.isRetained = isRetained
            self.expirySeconds = expirySeconds
        }
    }
#endif
