public import MeshKeySync

/// An episode to be listened to.
public struct Episode: Codable, Sendable, Hashable, Identifiable {
    public let id: String
    public let title: String

    public init(id: String, title: String) {
        self.id = id
        self.title = title
    }
}

/// What the two halves of the app store. Each half is built with this file, whatever it shows of it.
public enum PlayerKeys {
    /// From 0 to 1.
    public static let volume = StorageKey<Double>("player.volume")
    /// What is listened to next. It leaves before the others when not all fit into a message.
    public static let queue = StorageKey<[Episode]>("player.queue", priority: 1)
    /// Seconds into the first episode.
    public static let position = StorageKey<Double>("player.position")
    /// All that was ever heard: it goes to a new watch, and when the user asks for it.
    public static let history = StorageKey<[Episode]>("player.history", syncPolicy: .manual)
    /// What the phone's disk is for is the phone's own.
    public static let downloadsMegabytes = StorageKey<Int>("player.downloadsMegabytes", availability: .phoneOnly)
    /// The account: leaves over a link that encrypts and proves who is there, and over no other.
    public static let token = StorageKey<String>("player.token", isSecured: true, sharesSecured: true)

    /// Before the router is attached: what is not known is kept as it comes, and shown by nobody.
    public static func register(in router: StorageRouter) async {
        await router.register(volume)
        await router.register(queue)
        await router.register(position)
        await router.register(history)
        await router.register(downloadsMegabytes)
        await router.register(token)
    }
}
