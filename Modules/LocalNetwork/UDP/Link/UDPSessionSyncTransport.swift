#if UDP
    public import MeshBase
    public import MeshFoundation
    @_exported public import MeshDelivery
    public import MeshIdentity
    import MeshSecurity
    public import MeshStorage
    public import MeshTransport

    /// A `LinkTransport` over a `UDPLink`: paired peers that find each other on the local network.
    ///
    /// ```swift
    /// let transport = try UDPSessionSyncTransport(
    ///     configuration: UDPLinkConfiguration(identity: identity, trustedPeers: peers, discovery: MulticastDNS()),
    ///     deviceClass: .phone)
    /// let game = SharedSession(Score(), over: transport)
    /// ```
    ///
    /// A peer's ID is derived from its key, so no peer can impersonate another.
    public final class UDPSessionSyncTransport: DeliveringTransport {
        public let delivery: LinkTransport
        /// The link, which carries and counts the bytes and admits peers.
        public let link: UDPLink

        /// Creates a transport whose local peer has the ID of the identity.
        /// - Parameters:
        ///   - store: Stores messages that were accepted and aren't acknowledged; nil keeps them in memory.
        ///   - diagnostics: Receives reachability, rejected messages and connections, and messages that couldn't be
        ///     sent.
        /// - Throws: The errors of `LinkTransport`.
        public init(
            configuration: UDPLinkConfiguration, deviceClass: SessionPeerDeviceClass = .unknown,
            appInstanceID: String = UUID().uuidString, userID: String? = nil, delivery: DeliveryConfiguration = .init(),
            store: (any SessionStore)? = nil, diagnostics: Topic<SessionDiagnosticEvent>? = nil
        ) throws {
            let diagnostics = diagnostics ?? Topic(bufferLimit: 1024)
            let peer = SessionPeer(
                id: configuration.identity.peerID.description, deviceClass: deviceClass, appInstanceID: appInstanceID,
                userID: userID, topology: .localNetwork)
            link = UDPLink(configuration, diagnostics: diagnostics)
            self.delivery = try LinkTransport(
                localPeer: peer, link: link, configuration: delivery, store: store, diagnostics: diagnostics)
            self.delivery.keep(
                RevocationCarrier(configuration.trustedPeers, over: self.delivery) {
                    [weak delivery = self.delivery] in delivery
                })
        }
    }
#endif
