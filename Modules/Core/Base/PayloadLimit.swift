/// The largest payload that something carries.
public struct PayloadLimit: Hashable, Sendable, Codable {
    /// Stable name, such as `udp.datagram`; errors about size carry it.
    public let id: String
    /// Bytes of the largest payload that passes.
    public let bytes: Int
    /// One line for a table: what carries it.
    public let summary: String
    /// The document that states the number: an RFC, a specification or a vendor's documentation.
    public let source: String

    /// A limit of `bytes` bytes, which an error names by `id`.
    public init(id: String, bytes: Int, summary: String, source: String) {
        self.id = id
        self.bytes = bytes
        self.summary = summary
        self.source = source
    }
}

// What systems and protocols carry. The limits of this package's own forms stand with what has them.
extension PayloadLimit {
    /// Maximum size of one `WCSession.sendMessageData` message: 65,536 bytes.
    public static let wcSessionMessage = PayloadLimit(
        id: "wcsession.message", bytes: 65_536, summary: "WCSession message, both sides awake",
        source: "WatchConnectivity answers payloadTooLarge above 65,536 bytes; WCErrorCodePayloadTooLarge")

    /// Maximum size of one `WCSession.transferUserInfo` dictionary: 65,536 bytes.
    public static let wcSessionUserInfo = PayloadLimit(
        id: "wcsession.userInfo", bytes: 65_536, summary: "WCSession user info, queued by the system",
        source: "WatchConnectivity answers payloadTooLarge above 65,536 bytes; WCErrorCodePayloadTooLarge")

    /// Maximum size of one `WCSession.updateApplicationContext` dictionary: 262,144 bytes.
    public static let wcSessionApplicationContext = PayloadLimit(
        id: "wcsession.applicationContext", bytes: 262_144, summary: "WCSession application context, newest only",
        source: "WatchConnectivity answers payloadTooLarge above 262,144 bytes; WCErrorCodePayloadTooLarge")

    /// The most that one UDP datagram over IPv4 carries: 65,535 less 20 bytes of IP header and 8 of UDP header.
    public static let udpDatagram = PayloadLimit(
        id: "udp.datagram", bytes: 65_507, summary: "UDP datagram over IPv4, fragmented by the network",
        source: "RFC 768 and RFC 791, section 3.1: 65,535 − 20 − 8")

    /// Maximum size of a datagram that nearly every path carries unfragmented: 1,200 bytes.
    public static let udpSafe = PayloadLimit(
        id: "udp.safe", bytes: 1_200, summary: "UDP datagram that nearly every path carries whole",
        source: "RFC 9000, section 14: 1,200 bytes, from the IPv6 minimum MTU of 1,280 (RFC 8200, section 5)")

    /// Maximum size of a datagram in one Ethernet frame over IPv4: an MTU of 1,500 bytes less 20 of IP header and 8 of
    /// UDP header.
    public static let udpEthernet = PayloadLimit(
        id: "udp.ethernet", bytes: 1_472, summary: "UDP datagram in one Ethernet frame over IPv4",
        source: "RFC 894: MTU 1,500, less the headers of RFC 791 (20) and RFC 768 (8)")

    /// The most that the remaining-length field of an MQTT packet states.
    public static let mqttPacket = PayloadLimit(
        id: "mqtt.packet", bytes: 268_435_455, summary: "MQTT control packet after its fixed header",
        source: "OASIS MQTT 5.0, section 1.5.5: variable byte integer of four bytes")

    /// Every limit above, from the smallest.
    public static let known: [PayloadLimit] = [
        .udpSafe, .udpEthernet, .udpDatagram, .wcSessionMessage, .wcSessionUserInfo, .wcSessionApplicationContext,
        .mqttPacket,
    ]
}
