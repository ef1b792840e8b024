public import MeshResume
public import MeshResumeGateway
public import MeshWebSocket

/// The address at which a gateway serves, and the bounds for its clients.
public struct GatewayServerSettings: Sendable {
    /// The address to listen on. The default serves this machine only.
    public var host = "127.0.0.1"
    /// 0 for one of the system's choice.
    public var port = 0
    /// The PEM file with the certificate chain. Without a certificate and its key, the gateway serves only this
    /// machine.
    public var certificateFile: String?
    /// A PEM file with the certificate's key.
    public var keyFile: String?
    /// Prometheus text at `/metrics`, on loopback, 0 for one of the system's choice; nil for none.
    public var metricsPort: Int?
    /// The token with which `POST /publish/USER/TYPE` on the metrics port appends an event, and `POST /disconnect/USER` disconnects
    /// a user, in the header `Authorization: Bearer TOKEN`: at least 16 bytes. nil serves neither.
    public var publishToken: String?
    /// Sites whose pages may connect from a browser, such as `https://app.example`, besides the gateway's own. Empty by
    /// default: apps don't send `Origin`, and browsers always do.
    public var allowedOrigins: Set<String> = []
    /// The times and bounds of a client's connection.
    public var connection = GatewaySettings()
    /// The bounds of a device's mailbox.
    public var mailbox = MailboxSettings()
    /// Is told what passes between mailboxes: who, when and how much. Called on the gateway's event loop; must not block.
    package var onMailboxActivity: (@Sendable (MailboxActivity) -> Void)?
    /// Is told why a client got no answer: for a log. Called on the gateway's event loop for each question that failed, so it
    /// must not block. `/metrics` counts them.
    public var onProblem: (@Sendable (GatewayProblem) -> Void)?
    /// The rate at which new clients are admitted.
    public var admission = GatewayAdmission()
    /// Each user's share of the buffer and of the mailboxes' store, in this process.
    public var userBudget = UserBudget()
    /// Addresses of proxies in front of this gateway, or blocks of addresses such as `10.0.0.0/8`. A client behind one of them is
    /// known by the address in its headers `Forwarded` or `X-Forwarded-For`, which all other peers can't set.
    public var trustedProxies: [String] = []
    /// True if the trusted proxies begin each connection with a header of the PROXY protocol, version 1 or 2, as load balancers
    /// for TCP do. A connection from a trusted proxy without it is closed.
    public var usesProxyProtocol = false
    /// The bounds for clients that haven't authenticated.
    public var socket = WebSocketLimits()
    /// Clients of a gateway that ends come again within this time, each at a time of its own.
    public var shutdownSpread = Duration.seconds(10)

    /// Loopback, and a port of the system's choice.
    public init() {}

    #if WebSocket
        /// The names of the certificate are those of the server, unless others are set.
        func withServerNames() -> Self {
            guard mailbox.serverNames.isEmpty, let certificateFile else { return self }
            var settings = self
            settings.mailbox.serverNames = ServerCertificate.names(certificateFile)
            return settings
        }
    #endif
}

/// A question that the app or a store could not answer. The client learns only that it should come again.
public struct GatewayProblem: Sendable {
    /// The part of a gateway that was asked. Later versions may know more.
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

/// The app's part of a gateway: checking tokens, and answering for its users.
public struct GatewayApp: Sendable {
    /// Checks a token and returns its user, or nil to refuse the token. If it throws, there is no answer now, and the client
    /// comes again.
    public var authenticate: @Sendable (_ token: String, ClientProperties?) async throws -> GatewayUser?

    /// Returns the fields that READY gives a user whose session begins. If it throws, there is no answer now, and the
    /// client comes again.
    public var ready: @Sendable (_ user: String, ClientProperties) async throws -> ReadyFields

    /// The app's part: who a token belongs to, and what READY tells.
    public init(
        authenticate: @escaping @Sendable (_ token: String, ClientProperties?) async throws -> String?,
        ready: @escaping @Sendable (_ user: String, ClientProperties) async throws -> ReadyFields = { _, _ in .none }
    ) {
        self.init(
            users: { token, properties in try await authenticate(token, properties).map { GatewayUser($0) } },
            ready: ready)
    }

    /// The app's part, with tokens that expire.
    ///
    /// - Parameters:
    ///   - users: checks a token, as `authenticate` does.
    ///   - ready: what READY tells a user whose session begins.
    public init(
        users: @escaping @Sendable (_ token: String, ClientProperties?) async throws -> GatewayUser?,
        ready: @escaping @Sendable (_ user: String, ClientProperties) async throws -> ReadyFields = { _, _ in .none }
    ) {
        (authenticate, self.ready) = (users, ready)
    }
}
