public import MeshBus

/// A plugin that registers MeshSecurity, which needs the trait UDP, MQTT or WebSocket.
public struct SecurityPlugin: Plugin {
    /// Creates the plugin, which has no settings.
    public init() {}

    public var descriptor: PluginDescriptor {
        PluginDescriptor(
            id: "core.security", kind: .core, module: "MeshSecurity", version: "0.1.0",
            summary: "Peer identities, trusted peers, pairing and sealed datagrams",
            requires: ["core.bus"], capabilities: Self.capabilities, limits: Self.limits)
    }

    #if UDP || MQTT || WebSocket
        private static let capabilities = ["identity", "pairing-secret", "pairing-digits", "sealed-datagrams"]
        private static let limits: [PayloadLimit] = [.sealedDatagram]
    #else
        private static let capabilities: [String] = []
        private static let limits: [PayloadLimit] = []
    #endif
}

#if UDP || MQTT || WebSocket
    extension PayloadLimit {
        /// Maximum size of the plaintext in one sealed datagram.
        public static let sealedDatagram = PayloadLimit(
            id: "sealed.datagram", bytes: SealedDatagrams.plaintextBytesMax,
            summary: "Plaintext of a sealed datagram; networks fragment more than about 1,200 bytes",
            source: "RFC 768, RFC 791: 65,507 bytes of UDP over IPv4, less 32")
    }
#endif
