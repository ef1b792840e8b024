#if MQTT
    public import MeshTransport

    /// An MQTT 5 client, as the link needs one: libmosquitto's ships (`MosquittoClient`), an app may put another in its
    /// place.
    ///
    /// To the implementer:
    /// - The session must outlive connections (clean start off, session expiry as configured).
    /// - After a lost connection the client must connect again by itself, ever more slowly.
    /// - `publish` must never block and must keep the order of the messages of one topic.
    /// - Never call the observer while holding a lock that `publish` takes.
    public protocol MQTTClient: AnyObject, Sendable {
        /// Begins to connect, and goes on until `close`. Called once. Must return soon.
        /// - Throws: `MQTTError` when no connection can ever come of the configuration.
        func open(_ observer: any MQTTClientObserver) throws
        /// Asks for what is published at these filters, at QoS 1. Called anew on each connection.
        func subscribe(to filters: [String])
        /// - Throws: `LinkError`: `full` while there is no connection or no room, and `writable` follows; `oversized`;
        ///   `closed`.
        func publish(_ message: MQTTMessage) throws(LinkError)
        /// Ends the connection as a broken cable does; the next one follows.
        func drop()
        /// Waits about a second for the broker to acknowledge what was taken, and ends the connection in good order. Once
        /// it has returned, the observer hears nothing more. Idempotent.
        func close() async
    }

    /// Whom a client tells what happens: all calls come one after another, from any thread.
    public protocol MQTTClientObserver: AnyObject, Sendable {
        /// What the broker publishes once the next connection has been lost.
        func nextWill() -> MQTTMessage
        /// The broker has accepted the connection.
        func connected()
        /// The broker has answered a subscription: what it has granted is delivered from now on.
        func subscribed()
        func received(_ bytes: UnsafeRawBufferPointer, on topic: String)
        /// There is room again after `publish` threw `full`.
        func writable()
        /// The broker did not take a message, a subscription or a connection.
        func refused(_ reason: String)
        func disconnected(_ reason: String)
    }

    /// What is published at once.
    public struct MQTTMessage: Hashable, Sendable {
        public var topic: String
        public var bytes: [UInt8]
        /// QoS 1 where true, else QoS 0.
        public var isAcknowledged: Bool
        public var isRetained: Bool
        /// After so many seconds the broker delivers it no more; nil for never.
        public var expirySeconds: UInt32?

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
