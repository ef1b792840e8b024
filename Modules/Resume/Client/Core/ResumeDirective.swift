/// What the core wants done, in this order. What is told comes before what takes time.
package enum ResumeDirective: Hashable, Sendable {
    case publish(SessionEvent)
    /// Read the stored session: `loaded`.
    case load(connection: UInt64)
    /// Ask the app: `tokenReturned`.
    case askToken(connection: UInt64)
    /// `handshakeReturned` says whether it was sent.
    case sendHandshake(HandshakeRequest, connection: UInt64)
    /// `heartbeatReturned` says whether it was sent.
    case sendHeartbeat(HeartbeatRequest, connection: UInt64)
    /// Replace what is stored, after every write that was asked for before: `wrote`. nil removes it.
    case write(SessionSnapshot?)
}
