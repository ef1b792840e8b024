public import MeshResume
public import MeshResumeGateway
public import MeshWebSocket

/// The address at which a gateway serves, and the bounds for its clients.
public struct GatewayServerSettings: Sendable {
    /// The address to listen on. The default serves this machine only.
    public var host = "127.0.0.1"
    /// The TCP port; 0 lets the system choose one.
    public var port = 0
    /// The PEM file with the certificate chain. Without a certificate and its key, the gateway serves only this
    /// machine.
    public var certificateFile: String?
    /// A PEM file with the certificate's key.
    public var keyFile: String?
    /// The loopback port for Prometheus text at `/metrics`. 0 lets the system choose one; nil serves none.
    public var metricsPort: Int?
    /// The token for two requests on the metrics port: `POST /publish/USER/TYPE` appends an event, and `POST /disconnect/USER`
    /// disconnects a user. It is sent as `Authorization: Bearer TOKEN` and has at least 16 bytes. nil serves neither.
    public var publishToken: String?
    /// Sites whose pages may connect from a browser, such as `https://app.example`, in addition to the gateway's own. Empty
    /// by default: browsers send `Origin`, apps don't.
    public var allowedOrigins: Set<String> = []
    /// The times and bounds of a client's connection.
    public var connection = GatewaySettings()
    /// The bounds of a device's mailbox.
    public var mailbox = MailboxSettings()
    /// Receives each activity of a mailbox: devices, lanes and sizes. Called on the gateway's event loop, so it must not block.
    package var onMailboxActivity: (@Sendable (MailboxActivity) -> Void)?
    /// Receives the reason why a client got no answer, for a log. Called on the gateway's event loop for each failed
    /// request, so it must not block. `/metrics` counts these requests.
    public var onProblem: (@Sendable (GatewayProblem) -> Void)?
    /// The rate at which new clients are admitted.
    public var admission = GatewayAdmission()
    /// Each user's share of the buffer and of the mailboxes' store, in this process.
    public var userBudget = UserBudget()
    /// Addresses of proxies in front of this gateway, or blocks of addresses such as `10.0.0.0/8`. For a client behind one
    /// of them the gateway reads the address from the header `Forwarded` or `X-Forwarded-For`, which it ignores from all
    /// other peers.
    public var trustedProxies: [String] = []
    /// True if the trusted proxies begin each connection with a header of the PROXY protocol, version 1 or 2, as load
    /// balancers for TCP do. The gateway closes a connection from a trusted proxy that doesn't begin with the header.
    public var usesProxyProtocol = false
    /// The bounds of clients' sockets: the size of messages, and the number of connections.
    public var socket = WebSocketLimits()
    /// The time within which clients reconnect when a gateway ends, each at a different time.
    public var shutdownSpread = Duration.seconds(10)

    /// Creates settings for loopback and a port that the system chooses.
    public init() {}

    #if WebSocket
        /// Returns settings with the certificate's names as the server's, unless the app has set names.
        func withServerNames() -> Self {
            guard mailbox.serverNames.isEmpty, let certificateFile else { return self }
            var settings = self
            settings.mailbox.serverNames = ServerCertificate.names(certificateFile)
            return settings
        }
    #endif
}

/// A request that the app or a store couldn't answer. The client learns only that it should try again.
public struct GatewayProblem: Sendable {
    /// The part of a gateway that was asked. Later versions may add more.
    public struct Source: Hashable, Sendable, CustomStringConvertible {
        public let description: String

        /// The app's closures, `authenticate` and `ready`.
        public static let app = Source(description: "app")
        /// The buffer of events.
        public static let events = Source(description: "events")
        /// The store of mailboxes.
        public static let mailboxes = Source(description: "mailboxes")
    }

    /// The part that was asked.
    public let source: Source
    /// The description of the error. It may name the store's address.
    public let cause: String
}

/// The app's functions for a gateway: they check tokens, and return the fields of READY.
public struct GatewayApp: Sendable {
    /// Checks a token and returns its user, or nil to refuse the token. If it throws, the client tries again later.
    public var authenticate: @Sendable (_ token: String, ClientProperties?) async throws -> GatewayUser?

    /// Returns the fields of READY for a user whose session begins. If it throws, the client tries again later.
    public var ready: @Sendable (_ user: String, ClientProperties) async throws -> ReadyFields

    /// Creates the app's functions, with tokens that don't expire.
    public init(
        authenticate: @escaping @Sendable (_ token: String, ClientProperties?) async throws -> String?,
        ready: @escaping @Sendable (_ user: String, ClientProperties) async throws -> ReadyFields = { _, _ in .none }
    ) {
        self.init(
            users: { token, properties in try await authenticate(token, properties).map { GatewayUser($0) } },
            ready: ready)
    }

    /// Creates the app's functions, with tokens that may expire.
    ///
    /// - Parameters:
    ///   - users: checks a token, as `authenticate` does.
    ///   - ready: returns the fields of READY for a user whose session begins.
    public init(
        users: @escaping @Sendable (_ token: String, ClientProperties?) async throws -> GatewayUser?,
        ready: @escaping @Sendable (_ user: String, ClientProperties) async throws -> ReadyFields = { _, _ in .none }
    ) {
        (authenticate, self.ready) = (users, ready)
    }
}
