public import MeshBus

/// Registers MeshSecurity.
public struct SecurityPlugin: Plugin {
    public init() {}

    public var descriptor: PluginDescriptor {
        PluginDescriptor(
            id: "core.security", kind: .core, module: "MeshSecurity", version: "0.1.0",
            summary: "Who a peer is, whom it trusts, how two of them pair, and sealed datagrams",
            requires: ["core.bus"])
    }
}
