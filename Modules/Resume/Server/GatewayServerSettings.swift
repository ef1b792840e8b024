public import MeshResume
public import MeshResumeGateway
public import MeshWebSocket

/// Where a gateway serves, and what it grants.
public struct GatewayServerSettings: Sendable {
    /// The address to listen on. The default serves this machine only.
    public var host = "127.0.0.1"
    /// 0 for one of the system's choice.
    public var port = 0
    /// PEM files. Without them only this machine is served.
    public var certificateFile: String?
    /// A PEM file with the certificate's key.
    public var keyFile: String?
    /// Prometheus text at `/metrics`, on loopback, 0 for one of the system's choice; nil for none.
    public var metricsPort: Int?
    /// Whether `POST /publish/USER/TYPE` on the metrics port appends an event, for trying it out.
    public var publishesByHTTP = false
    /// What a client's connection is granted.
    public var connection = GatewaySettings()
    /// What a device's mailbox is granted.
    public var mailbox = MailboxSettings()
    /// Is told what passes between mailboxes: who, when and how much. Called on the gateway's event loop; must not block.
    package var onMailboxActivity: (@Sendable (MailboxActivity) -> Void)?
    /// How many clients come in at once.
    public var admission = GatewayAdmission()
    /// What a stranger may take.
    public var socket = WebSocketLimits()
    /// Clients of a gateway that ends come again within this time, each at a time of its own.
    public var shutdownSpread = Duration.seconds(10)

    /// Loopback, and a port of the system's choice.
    public init() {}
}

/// The app's part.
public struct GatewayApp: Sendable {
    /// Whose token it is: the user's stream, whatever the app calls it; nil where it is not accepted. One that throws has no
    /// answer now, and the client comes again.
    public var authenticate: @Sendable (_ token: String, ClientProperties?) async throws -> String?

    /// What READY tells the user whose session begins. One that throws has no answer now.
    public var ready: @Sendable (_ user: String, ClientProperties) async throws -> ReadyFields

    /// The app's part: who a token belongs to, and what READY tells.
    public init(
        authenticate: @escaping @Sendable (_ token: String, ClientProperties?) async throws -> String?,
        ready: @escaping @Sendable (_ user: String, ClientProperties) async throws -> ReadyFields = { _, _ in .none }
    ) {
        (self.authenticate, self.ready) = (authenticate, ready)
    }
}
