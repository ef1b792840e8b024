public import MeshBus

/// A plugin that registers MeshStorage and ``MemoryStore``.
public struct StoragePlugin: Plugin {
    /// Creates the plugin, which has no settings.
    public init() {}

    public var descriptor: PluginDescriptor {
        PluginDescriptor(
            id: "storage.memory", kind: .storage, module: "MeshStorage", version: "0.1.0",
            summary: "The protocol of a session's store, and a store in memory",
            capabilities: [StoreDurability.memory.rawValue])
    }

    public func contribute(to registry: inout ExtensionRegistry) {
        registry.add(StoreFactory { _, _ in MemoryStore() }, to: .stores)
    }
}

extension PluginKind {
    /// The kind of plugins with stores in which sessions outlive the process.
    public static let storage: PluginKind = "storage"
}

/// A factory that opens stores of one kind.
public struct StoreFactory: Sendable {
    /// Opens or creates the store in an existing folder. A store in memory ignores the folder.
    ///
    /// The store may have a higher durability than requested, or a lower one if it can't provide that.
    public let open: @Sendable (_ folder: String, _ durability: StoreDurability) throws -> any SessionStore

    /// Creates a factory from a closure. `open` is called off the main thread with an existing folder, and throws ``StorageError``.
    public init(
        open: @escaping @Sendable (_ folder: String, _ durability: StoreDurability) throws -> any SessionStore
    ) { self.open = open }
}

extension ExtensionPoint where Value == StoreFactory {
    /// The extension point at which stores register.
    public static let stores = ExtensionPoint("sessionmesh.stores")
}
