#if WebSocket
    #if canImport(Darwin)
        public import Foundation
    #endif
    public import MeshBase
    import MeshMailbox
    // What its transport is.
    @_exported public import MeshRelay
    public import MeshSecurity
    public import MeshTransport
    import MeshWebSocket

    /// The identity, trusted peers and gateway of a link.
    public struct GatewayLinkConfiguration: Sendable {
        /// The identity of this peer.
        public var identity: PeerIdentity
        /// The peers that this one connects to, in addition to guests.
        public var trustedPeers: TrustedPeers
        /// `wss://host`, or `ws://` on this machine.
        public var url: String
        /// Returns the token by which the app's server knows the user. Called for each connection, and never twice at
        /// once. nil tries again later.
        public var token: @Sendable () async -> String?
        /// Whether to sign the opening of the mailbox as earlier versions did, for a gateway of such a version. A gateway that
        /// forwards another one's challenge could then open the mailbox there.
        public var signsForAnyServer = false
        /// PEM file of the authorities to believe; nil for the system's.
        public var authoritiesPath: String?

        /// Everything else is a default until it is set.
        public init(
            identity: PeerIdentity, trustedPeers: TrustedPeers, url: String,
            token: @escaping @Sendable () async -> String?
        ) {
            (self.identity, self.trustedPeers, self.url, self.token) = (identity, trustedPeers, url, token)
        }
    }

    extension GatewayLinkConfiguration {
        var subprotocol: String {
            signsForAnyServer ? MailboxFrame.firstSubprotocol : MailboxFrame.subprotocol
        }

        /// The name of the server that is dialed; nil if nothing is signed for one.
        var server: String? { signsForAnyServer ? nil : (try? WebSocketAddress(url))?.host.lowercased() }
    }

    extension GatewayLinkConfiguration: RelayLinkConfiguration {
        public var lanes: [LinkLane: PayloadLimit] {
            [.datagram: .gatewayMessage, .queue: .gatewayMessage, .latest: .gatewayMessage]
        }

        /// A client over SwiftNIO.
        /// - Throws: `WebSocketError` for a URL that is none or would send in clear text, and for authorities that cannot be
        ///   read.
        public func relayClient() throws -> any RelayClient { GatewayRelayClient(self, dial: try makeDial()) }
    }

    /// A transport between paired peers that reach each other through a gateway, wherever they are.
    ///
    /// ```swift
    /// let transport = try GatewaySessionSyncTransport(
    ///     configuration: GatewayLinkConfiguration(
    ///         identity: identity, trustedPeers: peers, url: "wss://gateway.example.org",
    ///         token: { await account.token }))
    /// let game = SharedSession(Score(), over: transport)
    /// ```
    public typealias GatewaySessionSyncTransport = RelaySessionSyncTransport

    #if canImport(Darwin)
        extension RelayLink {
            /// A link through a gateway over `URLSessionWebSocketTask`, as watchOS needs. The session says whom to believe; it is
            /// not invalidated.
            /// - Throws: `URLError` with `badURL`; `SecurityError` with `invalidArgument`.
            public convenience init(
                _ configuration: GatewayLinkConfiguration, session: URLSession,
                diagnostics: Topic<SessionDiagnosticEvent>? = nil
            ) throws {
                try self.init(
                    identity: configuration.identity, trustedPeers: configuration.trustedPeers,
                    lanes: configuration.lanes,
                    client: GatewayRelayClient(
                        configuration,
                        dial: try URLSessionMailboxSocket.makeDial(
                            configuration.url, subprotocol: configuration.subprotocol, session)),
                    diagnostics: diagnostics)
            }
        }
    #endif

    extension PayloadLimit {
        /// One sealed message through a gateway, on any lane.
        public static let gatewayMessage = PayloadLimit(
            id: "gateway.message", bytes: 48_000, summary: "Message through a gateway's mailbox, sealed",
            source: "an event of a replay buffer has 65,536 bytes, less base64, sealing (91) and its sender")
    }
#endif
