/// An action for the coordinator, which publishes all events first, then starts writes, then performs the rest in order.
package enum ResumeDirective: Hashable, Sendable {
    case publish(SessionEvent)
    /// Read the stored session, then call `loaded`.
    case load(connection: UInt64)
    /// Ask the app for the token, then call `tokenReturned`.
    case askToken(connection: UInt64)
    /// Send the handshake, then call `handshakeReturned`.
    case sendHandshake(HandshakeRequest, connection: UInt64)
    /// Send a heartbeat, then call `heartbeatReturned`.
    case sendHeartbeat(HeartbeatRequest, connection: UInt64)
    /// Replace the stored session after all earlier writes, then call `writeFinished`. nil removes it.
    case write(SessionSnapshot?)
}
