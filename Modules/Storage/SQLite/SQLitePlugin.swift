#if SQLite
    internal import Foundation
    public import MeshBus
    internal import MeshStorage

    /// A plugin that registers ``SQLiteStore``.
    public struct SQLitePlugin: Plugin {
        /// Creates the plugin, which has no settings.
        public init() {}

        public var descriptor: PluginDescriptor {
            PluginDescriptor(
                id: "storage.sqlite", kind: .storage, module: "MeshSQLiteStorage", version: "0.1.0",
                summary: "Keeps sessions in a SQLite file that survives crashes and power loss",
                requires: ["storage.memory"], capabilities: [StoreDurability.machine.rawValue])
        }

        public func contribute(to registry: inout ExtensionRegistry) {
            registry.add(
                StoreFactory { folder, durability in
                    try SQLiteStore(
                        path: NSString(string: folder).appendingPathComponent("session.sqlite"),
                        sync: durability == .machine ? .full : .normal)
                }, to: .stores)
        }
    }
#endif
