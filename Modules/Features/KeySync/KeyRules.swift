/// The devices on which a key exists, and between which it travels.
public enum PlatformAvailability: String, Hashable, Sendable, Codable {
    /// Everywhere, and it travels; on phones alone; on watches alone; on a phone and its watch, and it travels.
    case all, phoneOnly, watchOnly, phoneWithWatchSync

    /// Whether a key travels at all.
    public var isShared: Bool { self == .all || self == .phoneWithWatchSync }
}

/// The rule for when a key is sent to peers.
public enum SyncPolicy: String, Hashable, Sendable, Codable {
    /// The key never leaves the device.
    case never
    /// Sends the key only in answers to a peer that asks, and in calls of the app.
    case manual
    /// Sends each change of the key, if its value is at most `SyncConfiguration.maxAutoSyncSize`.
    case automaticSmall
}

/// The bounds and timing of synchronization.
public struct SyncConfiguration: Hashable, Sendable {
    /// Bytes of an encoded value up to which it travels by itself.
    public var maxAutoSyncSize: Int
    /// Bytes of one message, whose keys share it. What is larger travels in pieces of at most a quarter of it.
    public var messageBytes: Int

    /// The reference's bound for values, and messages of 96 KiB.
    public init(maxAutoSyncSize: Int = 65_536, messageBytes: Int = 98_304) {
        self.maxAutoSyncSize = maxAutoSyncSize
        self.messageBytes = messageBytes
    }
}

/// The status of a key with respect to the peers.
public enum KeyStatus: Hashable, Sendable {
    /// Every known peer has said that it has it.
    case synced
    /// The value has not arrived at every peer yet.
    case pending
    /// The value isn't sent because it has too many bytes.
    case tooLarge(bytes: Int, limit: Int)
    /// The value isn't sent: the key's availability, policy or secrecy keeps it here, or a peer refuses it.
    case refused(reason: String)
    /// The value couldn't be stored or read here.
    case failed(reason: String)
}

/// How a replica treats one key.
struct KeyRule: Hashable, Sendable {
    var availability = PlatformAvailability.all
    var policy = SyncPolicy.automaticSmall
    var priority = 0
    var isSecured = false
    /// The app's explicit word that a secured key may leave.
    var sharesSecured = false

    /// What came from a peer and is not in the catalog: kept for a version that knows it, and given to who asks.
    static let unknown = KeyRule(policy: .manual)

    var isEligible: Bool { availability.isShared && policy != .never }

    func isAutomatic(byteCount: Int, _ configuration: SyncConfiguration) -> Bool {
        isEligible && policy == .automaticSmall && byteCount <= configuration.maxAutoSyncSize
    }
}

/// What bounds a replica and what a peer may say.
enum KeyLimits {
    static let keysMax = 65_536
    static let nameBytesMax = 400
    static let valueBytesMax = 1 << 20
    /// Of all names and values together.
    static let totalBytesMax = 64 << 20
    /// The share of keys that the app has not registered. The rest is for the app's own keys.
    static let unknownKeysMax = 32_768
    static let unknownBytesMax = 32 << 20
    static let authorBytesMax = 1024
    static let peersMax = 64
    /// Items, versions, names of one message.
    static let listMax = 16_384
    /// Removals that every known peer has and the record covers; beyond that the oldest go.
    static let removedMax = 256
    /// Removals that every known peer has; beyond that the oldest go, whatever the record says.
    static let uncoveredMax = 16_384
    /// Authors of which a record says something, and the bytes of their names; those silent longest go.
    static let authorsMax = 256
    static let authorsBytesMax = 16_384
    static let bucketCount = 256
    /// Messages with items that may be on their way to one peer.
    static let lettersMax = 8
    /// Names and authors of refused versions that wait for one message. Any message has room for them.
    static let refusedBytesMax = 256 << 10
}
