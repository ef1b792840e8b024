public import MeshBus

// The system counts the property list that it makes of what it is given; a key and the list's own bytes are taken off.
extension PayloadLimit {
    /// One message.
    public static let watchConnectivityMessage = PayloadLimit(
        id: "watchconnectivity.message", bytes: 65_536 - 256, summary: "Message to an app that is running",
        source: "WCSession: 65,536 bytes, less 256 for the link's own")

    /// One user info.
    public static let watchConnectivityUserInfo = PayloadLimit(
        id: "watchconnectivity.userinfo", bytes: 65_536 - 512,
        summary: "User info, which the system keeps and delivers",
        source: "WCSession: 65,536 bytes, less 512 for the link's own")

    /// What one message of a session may have: what can be delivered while nobody can be reached.
    public static let watchConnectivityPayload = PayloadLimit(
        id: "watchconnectivity.payload", bytes: 65_536 - 512 - 4096,
        summary: "Payload of one message to a watch or phone",
        source: "watchconnectivity.userinfo, less 4096 for header and metadata")

    /// The application context, all keys of all features together.
    public static let watchConnectivityContext = PayloadLimit(
        id: "watchconnectivity.context", bytes: 262_144,
        summary: "Application context: the newest of every feature and what the app has in it, together",
        source: "WCSession: 262,144 bytes")

    /// One of the newest, in a context that holds nothing else.
    public static let watchConnectivityLatest = PayloadLimit(
        id: "watchconnectivity.latest", bytes: 262_144 - 1024, summary: "Packet in an application context",
        source: "WCSession: 262,144 bytes, less 1024 for the link's own")
}
