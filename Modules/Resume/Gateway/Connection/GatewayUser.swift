public import Foundation

/// The user that a client's token belongs to, and the lifetime of that token.
public struct GatewayUser: Hashable, Sendable {
    /// The name of the user's stream, chosen by the app.
    public var name: String
    /// The moment at which the token was issued; nil if the app doesn't know. A token from before the user was disconnected
    /// isn't accepted.
    public var issued: Date?
    /// The moment at which the token expires; nil if it doesn't. Before that, the gateway asks the client for a new one.
    public var expires: Date?

    /// Creates a user by name. The token doesn't expire by default.
    public init(_ name: String, issued: Date? = nil, expires: Date? = nil) {
        (self.name, self.issued, self.expires) = (name, issued, expires)
    }
}

/// The lifetime of a token on one connection, in the time of the connection's core.
struct TokenLifetime: Hashable, Sendable {
    let expiresAt: Duration
    /// The moment at which the client is asked for a new token. nil if the token expires soon after it was accepted: then the
    /// client would return with the same token, and be asked again at once.
    let renewAt: Duration?

    init(expiresAt: Duration, lead: Duration, _ now: Duration) {
        self.expiresAt = expiresAt
        renewAt = expiresAt - now > lead * 2 ? expiresAt - lead : nil
    }

    var due: Duration { renewAt ?? expiresAt }
}
