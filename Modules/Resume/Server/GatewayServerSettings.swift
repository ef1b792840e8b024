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
    /// Whether `POST /publish/USER/TYPE` on the metrics port appends an event, for trying it out.
    public var publishesByHTTP = false
    /// The times and bounds of a client's connection.
    public var connection = GatewaySettings()
    /// The bounds of a device's mailbox.
    public var mailbox = MailboxSettings()
    /// Is told what passes between mailboxes: who, when and how much. Called on the gateway's event loop; must not block.
    package var onMailboxActivity: (@Sendable (MailboxActivity) -> Void)?
    /// The rate at which new clients are admitted.
    public var admission = GatewayAdmission()
    /// Each user's share of the buffer and of the mailboxes' store, in this process.
    public var userBudget = UserBudget()
    /// Addresses of proxies in front of this gateway, or blocks of addresses such as `10.0.0.0/8`. A client behind one of them is
    /// known by the address in its headers `Forwarded` or `X-Forwarded-For`, which all other peers can't set.
    public var trustedProxies: [String] = []
    /// The bounds for clients that haven't authenticated.
    public var socket = WebSocketLimits()
    /// Clients of a gateway that ends come again within this time, each at a time of its own.
    public var shutdownSpread = Duration.seconds(10)

    /// Loopback, and a port of the system's choice.
    public init() {}
}

/// The app's part of a gateway: checking tokens, and answering for its users.
public struct GatewayApp: Sendable {
    /// Checks a token and returns the user's stream, by a name of the app's choice, or nil to refuse the token. If it
    /// throws, there is no answer now, and the client comes again.
    public var authenticate: @Sendable (_ token: String, ClientProperties?) async throws -> String?

    /// Returns the fields that READY gives a user whose session begins. If it throws, there is no answer now, and the
    /// client comes again.
    public var ready: @Sendable (_ user: String, ClientProperties) async throws -> ReadyFields

    /// The app's part: who a token belongs to, and what READY tells.
    public init(
        authenticate: @escaping @Sendable (_ token: String, ClientProperties?) async throws -> String?,
        ready: @escaping @Sendable (_ user: String, ClientProperties) async throws -> ReadyFields = { _, _ in .none }
    ) {
        (self.authenticate, self.ready) = (authenticate, ready)
    }
}
