public import MeshBus
import MeshTransport

/// A plugin that registers MeshDiagnostics.
public struct DiagnosticsPlugin: Plugin {
    /// Creates the plugin, which has no settings.
    public init() {}

    public var descriptor: PluginDescriptor {
        PluginDescriptor(
            id: "diagnostics.recorder", kind: .diagnostics, module: "MeshDiagnostics", version: "0.1.0",
            summary: "Records all traffic of a transport, and forwards events to swift-log",
            requires: ["core.transport"])
    }

    public func contribute(to registry: inout ExtensionRegistry) {
        registry.add(TransportWrapping { DiagnosticsSession(wrapping: $0) }, to: .transportWrappers)
    }
}
