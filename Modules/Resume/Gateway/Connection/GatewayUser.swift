public import Foundation

/// The user that a client's token belongs to, and the life of that token.
public struct GatewayUser: Hashable, Sendable {
    /// The user's stream, by a name of the app's choice.
    public var name: String
    /// The moment at which the token was issued; nil if the app doesn't know. A token from before the user was disconnected
    /// isn't accepted.
    public var issued: Date?
    /// The moment at which the token expires; nil if it doesn't. The gateway asks the client for a new one before.
    public var expires: Date?

    /// A user by name, with a token that doesn't expire unless told otherwise.
    public init(_ name: String, issued: Date? = nil, expires: Date? = nil) {
        (self.name, self.issued, self.expires) = (name, issued, expires)
    }
}

/// The life of a token on one connection, in the time of the connection's core.
struct TokenLife: Hashable, Sendable {
    let expiresAt: Duration
    /// The moment at which the client is asked for a new token. nil if this one was new only a moment before: the client would
    /// come back with the same one, and be asked again at once.
    let renewAt: Duration?

    init(expiresAt: Duration, lead: Duration, _ now: Duration) {
        self.expiresAt = expiresAt
        renewAt = expiresAt - now > lead * 2 ? expiresAt - lead : nil
    }

    var due: Duration { renewAt ?? expiresAt }
}
