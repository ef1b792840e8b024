import MeshBus
import PluginsToolKit

/// Lists the traits that this build lacks.
struct OfferedTraitsPlugin: Plugin {
    var descriptor: PluginDescriptor {
        PluginDescriptor(
            id: "tool.traits", kind: "tool", module: "plugins-tool", version: "0.1.0",
            summary: "What the traits would add that this build was made without", requires: ["tool.plugins"])
    }

    func contribute(to registry: inout ExtensionRegistry) {
        for trait in Self.missing { registry.add(trait, to: .offeredTraits) }
    }

    /// The plugins that `ModulePlugin.all` describes and this build lacks.
    static var missingPlugins: Set<PluginID> {
        var plugins = Set(missing.flatMap(\.plugins))
        #if !MQTT && !WebSocket
            plugins.insert("internet.relay")
        #endif
        return plugins
    }

    private static var missing: [OfferedTrait] {
        var traits: [OfferedTrait] = []
        #if !UDP
            traits.append(
                OfferedTrait(
                    name: "UDP", plugins: ["core.security", "transport.udp"],
                    summary: "paired peers on the local network, by SwiftNIO and TLS"))
        #endif
        #if !MQTT
            traits.append(
                OfferedTrait(
                    name: "MQTT", plugins: ["transport.mqtt"],
                    summary: "paired peers anywhere through an MQTT 5 broker; needs libmosquitto"))
        #endif
        #if !WebSocket
            traits.append(
                OfferedTrait(
                    name: "WebSocket",
                    plugins: [
                        "internet.websocket", "transport.gateway", "internet.gateway-server",
                        "internet.resume-websocket",
                    ],
                    summary: "a gateway, its clients, and paired peers anywhere through it, by SwiftNIO and TLS"))
        #endif
        #if !Inspector
            traits.append(
                OfferedTrait(
                    name: "Inspector", plugins: ["diagnostics.inspector"],
                    summary: "a page that shows a session's life, by SwiftNIO"))
        #endif
        #if !SQLite
            traits.append(
                OfferedTrait(
                    name: "SQLite", plugins: ["storage.sqlite"],
                    summary: "sessions in a file, by GRDB; needs SQLite's headers"))
        #endif
        #if !Redis
            traits.append(
                OfferedTrait(
                    name: "Redis", plugins: ["replay.redis"],
                    summary: "a gateway's events in Redis, for any number of processes; needs hiredis"))
        #endif
        #if !Libdeflate
            traits.append(
                OfferedTrait(
                    name: "Libdeflate", plugins: ["compressor.libdeflate"],
                    summary: "large bodies compressed in less time; needs libdeflate"))
        #endif
        #if !Zstd
            traits.append(
                OfferedTrait(
                    name: "Zstd", plugins: ["format.zstd"],
                    summary: "bodies compressed as zstd between peers with it; needs libzstd"))
        #endif
        #if !SystemDiscovery
            traits.append(
                OfferedTrait(
                    name: "SystemDiscovery",
                    summary: "core.discovery by the system's responder too; on Linux needs Avahi"))
        #endif
        #if !Metrics
            traits.append(OfferedTrait(name: "Metrics", summary: "diagnostic events counted in swift-metrics"))
        #endif
        #if !SwiftLog
            traits.append(OfferedTrait(name: "SwiftLog", summary: "diagnostic events told to swift-log"))
        #endif
        return traits
    }
}
