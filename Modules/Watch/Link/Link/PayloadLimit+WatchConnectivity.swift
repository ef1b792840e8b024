public import MeshBase

// The system limits the size of the property list. The limits below subtract the list's own overhead and one key.
extension PayloadLimit {
    /// Maximum size of one packet in a message: 65,280 bytes.
    public static let watchConnectivityMessage = PayloadLimit(
        id: "wcsession.message.packet", bytes: wcSessionMessage.bytes - 256,
        summary: "Message to an app that is running",
        source: "WCSession: 65,536 bytes, less 256 for the link's overhead")

    /// Maximum size of one packet in a user info: 65,024 bytes.
    public static let watchConnectivityUserInfo = PayloadLimit(
        id: "wcsession.userInfo.packet", bytes: wcSessionUserInfo.bytes - 512,
        summary: "User info, which the system keeps and delivers",
        source: "WCSession: 65,536 bytes, less 512 for the link's overhead")

    /// Maximum size of one message of a session, so that it can also be delivered while the counterpart is away: 60,928
    /// bytes.
    public static let watchConnectivityPayload = PayloadLimit(
        id: "wcsession.payload", bytes: watchConnectivityUserInfo.bytes - 4096,
        summary: "Payload of one message to a watch or phone",
        source: "wcsession.userInfo.packet, less 4096 for header and metadata")

    /// Maximum size of one packet in an application context that holds nothing else: 261,120 bytes.
    public static let watchConnectivityLatest = PayloadLimit(
        id: "wcsession.applicationContext.packet", bytes: wcSessionApplicationContext.bytes - 1024,
        summary: "Packet in an application context",
        source: "WCSession: 262,144 bytes, less 1024 for the link's overhead")
}
