#if WebSocket
    #if canImport(Darwin)
        public import Foundation
    #endif
    public import MeshBase
    import MeshMailbox
    // Exported, because it declares the transport's type.
    @_exported public import MeshRelay
    public import MeshSecurity
    public import MeshTransport
    import MeshWebSocket

    /// The identity, trusted peers and gateway of a link.
    public struct GatewayLinkConfiguration: Sendable {
        /// The identity of this peer.
        public var identity: PeerIdentity
        /// The peers to connect to, in addition to guests.
        public var trustedPeers: TrustedPeers
        /// The gateway's URL: `wss://host`, or `ws://` on this machine.
        public var url: String
        /// Returns the token by which the app's server knows the user. Called for each connection, one call at a time.
        /// If it returns nil, the client tries again later.
        public var token: @Sendable () async -> String?
        /// True to connect to a gateway of an earlier version. This device's signature then doesn't name the gateway,
        /// so a malicious gateway could forward another gateway's challenge and open the mailbox there.
        public var signsForAnyServer = false
        /// The path of a PEM file with trusted certificate authorities; nil for the system's.
        public var authoritiesPath: String?

        /// Creates a configuration with defaults for everything else.
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

        /// The host being dialed; nil if the signature doesn't name it.
        var server: String? { signsForAnyServer ? nil : (try? WebSocketAddress(url))?.host.lowercased() }
    }

    extension GatewayLinkConfiguration: RelayLinkConfiguration {
        public var lanes: [LinkLane: PayloadLimit] {
            [.datagram: .gatewayMessage, .queue: .gatewayMessage, .latest: .gatewayMessage]
        }

        /// Creates a client over SwiftNIO.
        /// - Throws: `WebSocketError` if the URL is invalid or would send in clear text, or if the certificates can't
        ///   be read.
        public func relayClient() throws -> any RelayClient { GatewayRelayClient(self, dial: try makeDial()) }
    }

    /// A transport between paired peers that reach each other through a gateway. The peers may be on any network.
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
            /// Creates a link through a gateway over `URLSessionWebSocketTask`, which watchOS requires. The session
            /// decides which certificates to trust. The link doesn't invalidate it.
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
        /// Maximum size of a sealed message through a gateway, on any lane.
        public static let gatewayMessage = PayloadLimit(
            id: "gateway.message", bytes: 48_000, summary: "Message through a gateway's mailbox, sealed",
            source: "an event of a replay buffer has 65,536 bytes, less base64, sealing (91) and its sender")
    }
#endif
