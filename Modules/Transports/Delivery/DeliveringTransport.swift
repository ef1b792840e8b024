public import MeshBase
public import MeshIdentity
// Its methods are the transport's.
@_exported public import MeshTransport

/// A transport that is a `LinkTransport` under a name and with initializers of its own. All but `delivery` is given.
public protocol DeliveringTransport: TransportWrapper {
    /// Implements this transport's methods, and documents what they guarantee and throw.
    var delivery: LinkTransport { get }
}

extension DeliveringTransport {
    /// The transport that does the work: `delivery`.
    public var wrapped: any SessionSyncTransport { delivery }
    /// The largest payload, as the link allows it.
    public var payloadLimit: PayloadLimit? { delivery.payloadLimit }

    /// Returns the health of a peer. See ``LinkTransport/health(of:)``.
    public func health(of peer: SessionPeer) -> DeliveryHealth? { delivery.health(of: peer) }
    /// Returns the last round-trip time to a peer. See ``LinkTransport/roundTrip(to:)``.
    public func roundTrip(to peer: SessionPeer) -> Duration? { delivery.roundTrip(to: peer) }
    /// Returns a stream of events in delivery. See ``LinkTransport/diagnosticEvents()``.
    public func diagnosticEvents() -> AsyncStream<SessionDiagnosticEvent> { delivery.diagnosticEvents() }
    /// Forgets a peer that won't return. See ``LinkTransport/forget(_:)``.
    public func forget(_ peer: SessionPeer) { delivery.forget(peer) }

    /// Sends an envelope with options such as a priority. See `LinkTransport` for the errors.
    public func send(
        _ envelope: AnySessionSyncEnvelope, mode: SessionDeliveryMode, to peer: SessionPeer?, options: DeliveryOptions
    ) async throws {
        try await delivery.send(envelope, mode: mode, to: peer, options: options)
    }
}
