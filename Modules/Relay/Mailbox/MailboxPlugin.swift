public import MeshBus

/// Registers MeshMailbox.
public struct MailboxPlugin: Plugin {
    /// It has no settings.
    public init() {}

    public var descriptor: PluginDescriptor {
        PluginDescriptor(
            id: "feature.mailbox", kind: .feature, module: "MeshMailbox", version: "0.1.0",
            summary: "What a device and the gateway that holds its mailbox say to each other", requires: ["core.wire"])
    }
}
