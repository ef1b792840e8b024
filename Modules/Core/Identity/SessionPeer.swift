/// One installation of an app on one device: a member of a session.
///
/// ```swift
/// let peer = SessionPeer.thisDevice()                   // in an app: one ID for each installation
/// let watch = SessionPeer(                              // in a test
///     id: "watch", deviceClass: .watch, appInstanceID: "test", topology: .pairedCompanion)
/// ```
public struct SessionPeer: Hashable, Sendable, Codable, Identifiable {
    /// Stable for one install; the name under which events of this peer are ordered.
    public let id: String
    /// The kind of device it runs on.
    public let deviceClass: SessionPeerDeviceClass
    /// One launch or one process of the app on that install.
    public let appInstanceID: String
    /// The account, where the app has accounts; nil otherwise. The library compares it with nothing.
    public let userID: String?
    /// The peer's relation to the peer that describes it.
    public let topology: SessionPeerTopology

    /// Creates a peer without checking its fields. `id` has to be the same at each launch of one install.
    public init(
        id: String, deviceClass: SessionPeerDeviceClass, appInstanceID: String, userID: String? = nil,
        topology: SessionPeerTopology
    ) {
        self.id = id
        self.deviceClass = deviceClass
        self.appInstanceID = appInstanceID
        self.userID = userID
        self.topology = topology
    }
}

/// The kind of device. Open, so that an older app reads a peer of a kind that it has never heard of.
public struct SessionPeerDeviceClass: Hashable, Sendable, RawRepresentable, Codable {
    public let rawValue: String

    public init(rawValue: String) { self.rawValue = rawValue }

    /// One that people carry and tap, such as an iPhone.
    public static let phone = SessionPeerDeviceClass(rawValue: "phone")
    /// One on a wrist, such as an Apple Watch.
    public static let watch = SessionPeerDeviceClass(rawValue: "watch")
    /// One of a tablet's size, such as an iPad.
    public static let tablet = SessionPeerDeviceClass(rawValue: "tablet")
    /// A computer with a screen: a desktop, a notebook, a terminal.
    public static let desktop = SessionPeerDeviceClass(rawValue: "desktop")
    /// One that shows on a television, such as an Apple TV.
    public static let television = SessionPeerDeviceClass(rawValue: "television")
    /// One that is worn on the head, such as an Apple Vision Pro.
    public static let headset = SessionPeerDeviceClass(rawValue: "headset")
    /// One without a screen, which others reach over a network.
    public static let server = SessionPeerDeviceClass(rawValue: "server")
    /// Any other kind, and the one of a peer that does not say.
    public static let unknown = SessionPeerDeviceClass(rawValue: "unknown")
}

/// The relation of a peer to the local one. Open, like the device class.
public struct SessionPeerTopology: Hashable, Sendable, RawRepresentable, Codable {
    public let rawValue: String

    public init(rawValue: String) { self.rawValue = rawValue }

    /// Phone and watch, paired by the system.
    public static let pairedCompanion = SessionPeerTopology(rawValue: "pairedCompanion")
    /// Found on the same network.
    public static let localNetwork = SessionPeerTopology(rawValue: "localNetwork")
    /// Another process on the same machine.
    public static let sameHost = SessionPeerTopology(rawValue: "sameHost")
    /// Reached through a server.
    public static let remote = SessionPeerTopology(rawValue: "remote")
    /// Unknown, or of no matter.
    public static let unknown = SessionPeerTopology(rawValue: "unknown")
}
