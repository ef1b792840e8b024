public import MeshKeySync

/// A podcast episode.
public struct Episode: Codable, Sendable, Hashable, Identifiable {
    public let id: String
    public let title: String

    public init(id: String, title: String) {
        self.id = id
        self.title = title
    }
}

/// The keys of the values that the app stores. Both halves are built with this file, even if they don't show every value.
public enum PlayerKeys {
    /// Volume from 0 to 1.
    public static let volume = StorageKey<Double>("player.volume")
    /// The episodes to play next. Sent before the other keys when not all fit into a message.
    public static let queue = StorageKey<[Episode]>("player.queue", priority: 1)
    /// Position in the first episode, in seconds.
    public static let position = StorageKey<Double>("player.position")
    /// All episodes ever heard. Sent to a new watch, and when the user asks for it.
    public static let history = StorageKey<[Episode]>("player.history", syncPolicy: .manual)
    /// Megabytes of downloads on the phone's disk. Stays on the phone.
    public static let downloadsMegabytes = StorageKey<Int>("player.downloadsMegabytes", availability: .phoneOnly)
    /// The account's token. Sent only over a link that encrypts and authenticates the peer.
    public static let token = StorageKey<String>("player.token", isSecured: true, sharesSecured: true)

    /// Registers all keys. Call it before the router is attached: the router keeps values of unknown keys, but can't show them.
    public static func register(in router: StorageRouter) async {
        await router.register(volume)
        await router.register(queue)
        await router.register(position)
        await router.register(history)
        await router.register(downloadsMegabytes)
        await router.register(token)
    }
}
