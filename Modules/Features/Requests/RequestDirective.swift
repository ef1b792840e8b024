import Foundation
import MeshConnection
import MeshIdentity
import MeshTransport

/// What the requester's core wants done, in this order. Taken by whoever drives it after each call.
enum RequestDirective: Sendable {
    /// The transport is to be given it, and the core to be told what came of that.
    case send(RequestCopy)
    /// Nobody wants these any more: to be withdrawn where they wait. If one is, the request of the type has expired.
    case withdraw([UUID], expired: String? = nil)
    /// The end of a request, for its caller.
    case end(UUID, Result<RequestMessage, ConnectionError>)
    /// For whoever waits under that id: whether it has come.
    case wake(UUID, Bool)
    /// The core is to be told that time.
    case tick(at: Duration)
    case report(DiagnosticEvent)
    /// Something came back, which speaks for the connection.
    case heard
    /// Nothing did; what that says about the connection depends on the error.
    case failed(ConnectionError, isReachable: Bool)
}

/// One copy of a request on its way to the transport.
struct RequestCopy: Sendable {
    /// Also the event's, by which the transport can withdraw it.
    let id: UUID
    let message: RequestMessage
    let mode: SessionDeliveryMode
    let peer: SessionPeer?
}

/// What is so while the core is told something.
struct RequestMoment: Sendable {
    let elapsed: Duration
    /// Milliseconds since 1970.
    let wall: UInt64
    /// Those that the transport has met, the local one not among them.
    let peers: [SessionPeer]
}
