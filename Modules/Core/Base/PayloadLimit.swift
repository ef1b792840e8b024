/// The maximum size of a payload on one kind of carrier.
public struct PayloadLimit: Hashable, Sendable, Codable {
    /// Stable name, such as `udp.datagram`. Errors about size include it.
    public let id: String
    /// Maximum number of bytes in a payload.
    public let bytes: Int
    /// One line that describes the carrier, for tables.
    public let summary: String
    /// The document that states the number: an RFC, a specification or a vendor's documentation.
    public let source: String

    /// Creates a limit of `bytes` bytes. Errors name it by `id`.
    public init(id: String, bytes: Int, summary: String, source: String) {
        self.id = id
        self.bytes = bytes
        self.summary = summary
        self.source = source
    }
}

// Limits of systems and protocols. This package's own formats declare theirs elsewhere.
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

    /// Maximum size of a UDP datagram over IPv4: 65,535 bytes less 20 of IP header and 8 of UDP header.
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

    /// Maximum value of the remaining-length field of an MQTT packet: 268,435,455 bytes.
    public static let mqttPacket = PayloadLimit(
        id: "mqtt.packet", bytes: 268_435_455, summary: "MQTT control packet after its fixed header",
        source: "OASIS MQTT 5.0, section 1.5.5: variable byte integer of four bytes")

    /// All limits above, smallest first.
    public static let known: [PayloadLimit] = [
        .udpSafe, .udpEthernet, .udpDatagram, .wcSessionMessage, .wcSessionUserInfo, .wcSessionApplicationContext,
        .mqttPacket,
    ]
}
