public import MeshBus

/// A plugin that registers MeshMQTTTransport. The transport needs the trait MQTT.
public struct MQTTTransportPlugin: Plugin {
    /// Creates the plugin, which has no settings.
    public init() {}

    public var descriptor: PluginDescriptor {
        PluginDescriptor(
            id: "transport.mqtt", kind: .transport, module: "MeshMQTTTransport", version: "0.1.0",
            summary: "Paired peers anywhere, through an MQTT 5 broker that can't read their messages",
            requires: ["core.transport", "core.delivery", "core.security", "internet.relay"],
            capabilities: ["realtime", "queue", "latest", "request-reply", "broadcast"], limits: Self.limits)
    }

    #if MQTT
        private static let limits: [PayloadLimit] = [.mqttMessage, .mqttDatagram] + PayloadLimit.mqttBrokers
    #else
        private static let limits: [PayloadLimit] = []
    #endif
}
