#if MQTT || WebSocket
    public import MeshBase
    public import MeshSecurity
    public import MeshTransport

    /// A relay, and who meets there: what a ``RelayLink`` and a ``RelaySessionSyncTransport`` need to know.
    public protocol RelayLinkConfiguration: Sendable {
        /// Who this peer is.
        var identity: PeerIdentity { get }
        /// Whom it talks to, beside guests.
        var trustedPeers: TrustedPeers { get }
        /// The largest packets that the relay takes on `datagram`, `queue` and `latest`, sealed.
        var lanes: [LinkLane: PayloadLimit] { get }
        /// How long a peer may take to answer before it counts as gone. It is asked when its will has come or nothing has
        /// for 10 s; shorter than a round trip through the relay, it parts peers that are there.
        var answerTime: Duration { get }

        /// Makes the connection to the relay that one link opens and closes.
        func relayClient() throws -> any RelayClient
    }

    extension RelayLinkConfiguration {
        /// Four seconds.
        public var answerTime: Duration { .seconds(4) }
    }

    extension RelayLink {
        /// A link through the relay that the configuration names.
        /// - Throws: what `relayClient` throws; `SecurityError` with `invalidArgument`.
        public convenience init(
            _ configuration: some RelayLinkConfiguration, diagnostics: Topic<SessionDiagnosticEvent>? = nil
        ) throws {
            try self.init(
                identity: configuration.identity, trustedPeers: configuration.trustedPeers, lanes: configuration.lanes,
                client: try configuration.relayClient(), answerTime: configuration.answerTime, diagnostics: diagnostics)
        }
    }
#endif
