#if MQTT || WebSocket
    public import MeshBase
    public import MeshSecurity
    public import MeshTransport

    /// The configuration of a ``RelayLink`` or a ``RelaySessionSyncTransport``: the relay, and the peers that meet
    /// there.
    public protocol RelayLinkConfiguration: Sendable {
        /// The identity of this peer.
        var identity: PeerIdentity { get }
        /// The peers to connect to, in addition to guests.
        var trustedPeers: TrustedPeers { get }
        /// The sizes of sealed packets that the relay accepts on `datagram`, `queue` and `latest`.
        var lanes: [LinkLane: PayloadLimit] { get }
        /// Maximum time for a peer to answer a probe before it counts as gone. Peers are probed when their will
        /// arrives, or after 30 s without a message. A time below the round trip through the relay disconnects present
        /// peers.
        var answerTime: Duration { get }

        /// Creates the connection to the relay that one link opens and closes.
        func relayClient() throws -> any RelayClient
    }

    extension RelayLinkConfiguration {
        /// The default time for a peer to answer: four seconds.
        public var answerTime: Duration { .seconds(4) }
    }

    extension RelayLink {
        /// Creates a link through the configured relay.
        /// - Throws: Errors of `relayClient`; `SecurityError` with `invalidArgument`.
        public convenience init(
            _ configuration: some RelayLinkConfiguration, diagnostics: Topic<SessionDiagnosticEvent>? = nil
        ) throws {
            try self.init(
                identity: configuration.identity, trustedPeers: configuration.trustedPeers, lanes: configuration.lanes,
                client: try configuration.relayClient(), answerTime: configuration.answerTime, diagnostics: diagnostics)
        }
    }
#endif
