#if MQTT || WebSocket
    public import MeshBase
    @_exported public import MeshDelivery
    public import MeshFoundation
    public import MeshIdentity
    import MeshSecurity
    public import MeshStorage
    public import MeshTransport

    /// A transport between paired peers that meet at a relay, wherever they are: a `LinkTransport` over a ``RelayLink``.
    ///
    /// A peer's ID is that of its key, so no peer can speak as another.
    public final class RelaySessionSyncTransport: DeliveringTransport {
        public let delivery: LinkTransport
        /// The link that moves the bytes and counts them.
        public let link: RelayLink
        private let revocations: RevocationCarrier

        /// The local peer's id is that of the identity.
        /// - Parameters:
        ///   - configuration: names the relay: an `MQTTLinkConfiguration`, a `GatewayLinkConfiguration`, or an app's own.
        ///   - store: keeps what was accepted and not acknowledged; nil keeps it in memory.
        ///   - diagnostics: receives reachability, what was rejected and what the relay refuses.
        /// - Throws: what the link's initializer and `LinkTransport` throw.
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
            revocations = RevocationCarrier(configuration.trustedPeers, over: self.delivery) {
                [weak delivery = self.delivery] in delivery
            }
        }
    }
#endif
