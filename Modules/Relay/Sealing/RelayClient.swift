#if MQTT || WebSocket
    public import MeshTransport

    /// A connection to what passes messages on between peers that do not reach each other, and is not trusted: an MQTT broker
    /// (`MosquittoClient`, MeshMQTTTransport), a gateway (`GatewayRelayClient`, MeshGatewayTransport), or an app's own. Messages
    /// go to topics (`RelayTopic`); the relay keeps those that are acknowledged for a peer that is away, and of each topic that
    /// is retained the newest.
    ///
    /// To the implementer:
    /// - What is kept for this peer must outlive connections (MQTT: clean start off, a session expiry).
    /// - After a lost connection the client must connect again by itself, ever more slowly.
    /// - `publish` must never block and must keep the order of the messages of one topic.
    /// - Never call the observer while holding a lock that `publish` takes.
    public protocol RelayClient: AnyObject, Sendable {
        /// The relay's address for people, without secrets.
        var address: String { get }
        /// Begins to connect, and goes on until `close`. Called once. Must return soon.
        /// - Throws: when no connection can ever come of the configuration.
        func open(_ observer: any RelayClientObserver) throws
        /// Asks for what is published at these topics, a last level `#` meaning all below. Called anew on each connection, with
        /// all of them, and with new ones while it lasts.
        func subscribe(to topics: [String])
        /// Ends the subscription of topics.
        func unsubscribe(from topics: [String])
        /// Publishes a message on its topic.
        ///
        /// - Throws: `LinkError`: `full` while there is no connection or no room, and `writable` follows; `oversized`;
        ///   `closed`.
        func publish(_ message: RelayMessage) throws(LinkError)
        /// Ends the connection as a broken cable does; the next one follows.
        func drop()
        /// Waits about a second for the relay to acknowledge what was taken, and ends the connection in good order. Once
        /// it has returned, the observer hears nothing more. Idempotent.
        func close() async
    }

    /// The receiver of a client's events. The client makes all calls one after another, from any thread.
    public protocol RelayClientObserver: AnyObject, Sendable {
        /// Returns the message that the relay publishes once the next connection has been lost.
        func nextWill() -> RelayMessage
        /// The relay has accepted the connection.
        func connected()
        /// The relay has answered a subscription: what it has granted is delivered from now on.
        func subscribed()
        /// A message has come on a topic; the bytes are valid during the call.
        func received(_ bytes: UnsafeRawBufferPointer, on topic: String)
        /// There is room again after `publish` threw `full`.
        func writable()
        /// The relay did not take a message, a subscription or a connection.
        func refused(_ reason: String)
        /// The connection has ended; the client makes the next one.
        func disconnected(_ reason: String)
    }

    /// A message for a relay to publish.
    public struct RelayMessage: Hashable, Sendable {
        /// The topic of the message, which the relay reads.
        public var topic: String
        /// The content of the message, which the relay only passes on.
        public var bytes: [UInt8]
        /// Kept until it has arrived (MQTT: QoS 1) where true, else now or never (QoS 0).
        public var isAcknowledged: Bool
        /// Whether the relay keeps the newest of the topic for those who come later.
        public var isRetained: Bool
        /// After so many seconds the relay delivers it no more; nil for never.
        public var expirySeconds: UInt32?

        /// A message that arrives, is not kept as the newest and never expires, unless told otherwise.
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
