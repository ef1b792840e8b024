import Foundation

/// The devices on which a key exists, and between which it travels.
public enum PlatformAvailability: String, Hashable, Sendable, Codable {
    /// `all` and `phoneWithWatchSync` are shared between devices. `phoneOnly` and `watchOnly` stay on each phone or watch.
    case all, phoneOnly, watchOnly, phoneWithWatchSync

    /// True if the key travels between devices.
    public var isShared: Bool { self == .all || self == .phoneWithWatchSync }
}

/// The rule for when a key is sent to peers.
public enum SyncPolicy: String, Hashable, Sendable, Codable {
    /// The key never leaves the device.
    case never
    /// Sends the key only if a peer asks for it or the app makes a call.
    case manual
    /// Sends each change of the key, if its value is at most `SyncConfiguration.maxAutoSyncSize`.
    case automaticSmall
}

/// The bounds of synchronization.
public struct SyncConfiguration: Hashable, Sendable {
    /// Maximum number of bytes of an encoded value that is sent automatically.
    public var maxAutoSyncSize: Int
    /// Maximum number of bytes of keys and values in one message. A larger value travels in pieces of at most a quarter of it.
    public var messageBytes: Int

    /// Creates a configuration of key sync. By default, values up to 64 KiB travel automatically, in messages of 96 KiB.
    public init(maxAutoSyncSize: Int = 65_536, messageBytes: Int = 98_304) {
        self.maxAutoSyncSize = maxAutoSyncSize
        self.messageBytes = messageBytes
    }
}

/// The status of a key with respect to the peers.
public enum KeyStatus: Hashable, Sendable {
    /// Every known peer has confirmed the value.
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

/// The rules of one key for a replica.
struct KeyRule: Hashable, Sendable {
    var availability = PlatformAvailability.all
    var policy = SyncPolicy.automaticSmall
    var priority = 0
    var isSecured = false
    /// The app's explicit permission for a secured key to leave.
    var sharesSecured = false

    /// The rule of a key that peers have sent and the app hasn't registered. The key is kept for a version of the app that
    /// knows it, and sent to peers that ask.
    static let unknown = KeyRule(policy: .manual)

    var isEligible: Bool { availability.isShared && policy != .never }

    func isAutomatic(byteCount: Int, _ configuration: SyncConfiguration) -> Bool {
        isEligible && policy == .automaticSmall && byteCount <= configuration.maxAutoSyncSize
    }
}

/// The bounds of a replica and of peers' messages.
enum KeyLimits {
    static let keysMax = 65_536
    static let nameBytesMax = 400
    static let valueBytesMax = 1 << 20
    /// Maximum number of bytes of all names and values.
    static let totalBytesMax = 64 << 20
    /// Maximum number of keys that the app hasn't registered, and of their bytes. The app's own keys can use the rest.
    static let unknownKeysMax = 32_768
    static let unknownBytesMax = 32 << 20
    static let authorBytesMax = 1024
    static let peersMax = 64
    /// Maximum number of items, versions or names in one message.
    static let listMax = 16_384
    /// Number of removals above which old ones are forgotten. Only removals that every known peer has are forgotten. Of
    /// those that the record also covers, the newest are kept: half of this number.
    static let removedMax = 256
    /// Maximum number of removals that every known peer has but the record may not cover. The oldest are forgotten first.
    static let uncoveredMax = 16_384
    /// Maximum number of authors in a record, and of bytes of their names. The authors that have been silent longest are
    /// forgotten first.
    static let authorsMax = 256
    static let authorsBytesMax = 16_384
    static let bucketCount = 256
    /// Maximum number of unconfirmed messages with items to one peer.
    static let unconfirmedMessagesMax = 8
    /// Maximum number of bytes of names and authors of refused versions that wait for messages to one peer.
    static let refusedBytesMax = 256 << 10

    /// Returns true if the bounds of a single key permit the value.
    static func permits(_ data: Data?, of name: String) -> Bool {
        name.utf8.count <= nameBytesMax && data?.count ?? 0 <= valueBytesMax
    }
}
