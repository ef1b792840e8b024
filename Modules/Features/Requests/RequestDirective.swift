import Foundation
import MeshConnection
import MeshIdentity
import MeshTransport

/// An action that `RequesterCore` requests. Its driver takes all of them after each call and carries them out in order.
enum RequestDirective: Sendable {
    /// Gives the copy to the transport, and its result to `handleResult`.
    case send(RequestCopy)
    /// Withdraws copies that aren't needed. If one still waits and `expired` names a type, reports that its request expired.
    case withdraw([UUID], expired: String? = nil)
    /// Ends a request and resumes its caller.
    case end(UUID, Result<RequestMessage, ConnectionError>)
    /// Resumes the waiter with that ID. The value is true if its event has happened.
    case wake(UUID, Bool)
    /// Calls `tick` at that time.
    case tick(at: Duration)
    case report(DiagnosticEvent)
    /// A peer has replied, which shows that the connection works.
    case peerResponded
    /// A request has failed. The error decides whether that counts for the connection's health.
    case failed(ConnectionError, isReachable: Bool)
}

/// One copy of a request for the transport.
struct RequestCopy: Sendable {
    /// The event's ID, with which the transport can withdraw it.
    let id: UUID
    let message: RequestMessage
    let mode: SessionDeliveryMode
    let peer: SessionPeer?
}

/// The environment of a call of the core.
struct RequestContext: Sendable {
    let elapsed: Duration
    /// Milliseconds since 1970.
    let wall: UInt64
    /// Peers that the transport has met, without the local one.
    let peers: [SessionPeer]
}
