#if MQTT || WebSocket
    public import MeshBase
    public import MeshSecurity
    public import MeshTransport

    /// A relay, and who meets there: what a ``RelayLink`` and a ``RelaySessionSyncTransport`` need to know.
    public protocol RelayLinkConfiguration: Sendable {
        /// The identity of this peer.
        var identity: PeerIdentity { get }
        /// The peers that this one connects to, in addition to guests.
        var trustedPeers: TrustedPeers { get }
        /// The largest packets that the relay takes on `datagram`, `queue` and `latest`, sealed.
        var lanes: [LinkLane: PayloadLimit] { get }
        /// Maximum time for a peer to answer before it counts as gone. It is asked when its will has arrived, or after
        /// 30 s without a message. A time shorter than a round trip through the relay disconnects peers that are there.
        var answerTime: Duration { get }

        /// Makes the connection to the relay that one link opens and closes.
        func relayClient() throws -> any RelayClient
    }

    extension RelayLinkConfiguration {
        /// The default time for a peer to answer: four seconds.
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
