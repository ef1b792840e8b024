#if CommandLineTools && (UDP || MQTT)
    import MeshSecurity

    #if UDP
        import MeshUDPTransport
    #endif
    #if MQTT
        import MeshMQTTTransport
    #endif

    /// The minute in which two peers pair, on the local network or at a broker.
    struct PairingWindow: Sendable {
        /// Returns the port at which others reach the window, once it is open; nil at a broker.
        let port: @Sendable () async throws -> UInt16?
        /// Pairs. Calls `compare` to ask whether the other device shows the same code.
        let run: @Sendable (_ compare: @escaping @Sendable (String) async -> Bool) async throws -> TrustedPeer

        #if UDP
            init(_ pairing: UDPPairing) {
                port = {
                    while pairing.port == nil { try await Task.sleep(for: .milliseconds(20)) }
                    return pairing.port
                }
                run = { compare in try await pairing.run { await compare($0.code) } }
            }
        #endif

        #if MQTT
            /// - Throws: `ToolError`, `MQTTError`.
            init(
                _ broker: MQTTBroker, _ name: PeerName, home: PeerHome, secret: PairingSecret, isOwn: Bool,
                isAdministrator: Bool
            ) throws {
                let pairing = try MQTTPairing(
                    identity: try home.identity(), trustedPeers: try home.trustedPeers(), name: name.value,
                    secret: secret, broker: broker, isOwn: isOwn, isAdministrator: isAdministrator)
                port = { nil }
                run = { _ in try await pairing.run() }
            }
        #endif
    }
#endif
