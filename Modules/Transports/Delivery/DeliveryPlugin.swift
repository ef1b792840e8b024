public import MeshBus

/// A plugin that registers MeshDelivery.
public struct DeliveryPlugin: Plugin {
    /// Creates the plugin, which has no settings.
    public init() {}

    public var descriptor: PluginDescriptor {
        PluginDescriptor(
            id: "core.delivery", kind: .core, module: "MeshDelivery", version: "0.1.0",
            summary: "Makes a dependable transport of any link: acknowledged, in order, once",
            requires: ["core.transport", "core.wire", "storage.memory"], limits: [.deliveryMessage])
    }
}
