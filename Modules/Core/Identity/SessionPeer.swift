/// One installation of an app on one device: a member of a session.
///
/// ```swift
/// let peer = SessionPeer.thisDevice()                   // in an app: one ID for each installation
/// let watch = SessionPeer(                              // in a test
///     id: "watch", deviceClass: .watch, appInstanceID: "test", topology: .pairedCompanion)
/// ```
public struct SessionPeer: Hashable, Sendable, Codable, Identifiable {
    /// An ID that is stable for one installation. It decides the order of two peers' events with equal stamps.
    public let id: String
    /// The kind of device it runs on.
    public let deviceClass: SessionPeerDeviceClass
    /// The ID of one launch, or one process, of the app in that installation.
    public let appInstanceID: String
    /// The account, if the app has accounts; nil otherwise. The library doesn't compare it with anything.
    public let userID: String?
    /// The peer's relation to the device that created this value.
    public let topology: SessionPeerTopology

    /// Creates a peer without checking its fields. `id` must be equal at each launch of one installation.
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

/// The kind of device. Extensible, so an older app can read a peer of a kind that it doesn't know.
public struct SessionPeerDeviceClass: Hashable, Sendable, RawRepresentable, Codable {
    public let rawValue: String

    public init(rawValue: String) { self.rawValue = rawValue }

    /// A device that people carry and tap, such as an iPhone.
    public static let phone = SessionPeerDeviceClass(rawValue: "phone")
    /// A device on a wrist, such as an Apple Watch.
    public static let watch = SessionPeerDeviceClass(rawValue: "watch")
    /// A device of a tablet's size, such as an iPad.
    public static let tablet = SessionPeerDeviceClass(rawValue: "tablet")
    /// A computer with a screen: a desktop, a notebook, a terminal.
    public static let desktop = SessionPeerDeviceClass(rawValue: "desktop")
    /// A device that shows on a television, such as an Apple TV.
    public static let television = SessionPeerDeviceClass(rawValue: "television")
    /// A device that is worn on the head, such as an Apple Vision Pro.
    public static let headset = SessionPeerDeviceClass(rawValue: "headset")
    /// A device without a screen, which others reach over a network.
    public static let server = SessionPeerDeviceClass(rawValue: "server")
    /// Any other kind, or a peer that doesn't state one.
    public static let unknown = SessionPeerDeviceClass(rawValue: "unknown")
}

/// The relation of a peer to the local one. Extensible, like the device class.
public struct SessionPeerTopology: Hashable, Sendable, RawRepresentable, Codable {
    public let rawValue: String

    public init(rawValue: String) { self.rawValue = rawValue }

    /// A phone and a watch, paired by the system.
    public static let pairedCompanion = SessionPeerTopology(rawValue: "pairedCompanion")
    /// A peer found on the same network.
    public static let localNetwork = SessionPeerTopology(rawValue: "localNetwork")
    /// Another process on the same machine.
    public static let sameHost = SessionPeerTopology(rawValue: "sameHost")
    /// A peer reached through a server.
    public static let remote = SessionPeerTopology(rawValue: "remote")
    /// An unknown relation, or one that doesn't matter.
    public static let unknown = SessionPeerTopology(rawValue: "unknown")
}
