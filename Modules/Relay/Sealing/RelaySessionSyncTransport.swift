#if MQTT || WebSocket
    public import MeshBase
    @_exported public import MeshDelivery
    public import MeshFoundation
    public import MeshIdentity
    import MeshSecurity
    public import MeshStorage
    public import MeshTransport

    /// A transport between paired peers that meet at a relay: a `LinkTransport` over a ``RelayLink``. The peers may be
    /// on any network.
    ///
    /// A peer's ID is derived from its key, so no peer can impersonate another.
    public final class RelaySessionSyncTransport: DeliveringTransport {
        public let delivery: LinkTransport
        /// The link, which carries and counts the bytes.
        public let link: RelayLink

        /// Creates a transport over a relay. The local peer's ID is that of the configured identity.
        /// - Parameters:
        ///   - configuration: An `MQTTLinkConfiguration`, a `GatewayLinkConfiguration` or your own.
        ///   - store: Keeps unacknowledged messages; nil keeps them in memory.
        ///   - diagnostics: Receives reachability, rejected messages and the relay's refusals.
        /// - Throws: Errors of the link's initializer and of `LinkTransport`.
        public init(
            configuration: some RelayLinkConfiguration, deviceClass: SessionPeerDeviceClass = .unknown,
            appInstanceID: String = UUID().uuidString, userID: String? = nil, delivery: DeliveryConfiguration = .init(),
            store: (any SessionStore)? = nil, diagnostics: Topic<SessionDiagnosticEvent>? = nil
        ) throws {
            let diagnostics = diagnostics ?? Topic(bufferLimit: 1024)
            let peer = SessionPeer(
                id: configuration.identity.peerID.description, deviceClass: deviceClass, appInstanceID: appInstanceID,
                userID: userID, topology: .unknown)
            link = try RelayLink(configuration, diagnostics: diagnostics)
            self.delivery = try LinkTransport(
                localPeer: peer, link: link, configuration: delivery, store: store, diagnostics: diagnostics)
            self.delivery.keep(
                RevocationCarrier(configuration.trustedPeers, over: self.delivery) {
                    [weak delivery = self.delivery] in delivery
                })
        }
    }
#endif
