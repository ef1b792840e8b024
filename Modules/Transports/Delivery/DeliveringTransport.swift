public import MeshBase
public import MeshIdentity
// Re-exported because a conforming transport has the methods of `SessionSyncTransport`.
@_exported public import MeshTransport

/// A transport that wraps a `LinkTransport` under its own name and with its own initializers. Only `delivery` must be
/// implemented.
public protocol DeliveringTransport: TransportWrapper {
    /// The transport that implements this one's methods and documents their guarantees and errors.
    var delivery: LinkTransport { get }
}

extension DeliveringTransport {
    /// The transport that does the work: `delivery`.
    public var wrapped: any SessionSyncTransport { delivery }
    /// The largest payload that the link allows.
    public var payloadLimit: PayloadLimit? { delivery.payloadLimit }

    /// Returns the health of a peer. See ``LinkTransport/health(of:)``.
    public func health(of peer: SessionPeer) -> DeliveryHealth? { delivery.health(of: peer) }
    /// Returns the smoothed round-trip time to a peer. See ``LinkTransport/roundTrip(to:)``.
    public func roundTrip(to peer: SessionPeer) -> Duration? { delivery.roundTrip(to: peer) }
    /// Returns a stream of delivery's diagnostic events. See ``LinkTransport/diagnosticEvents()``.
    public func diagnosticEvents() -> AsyncStream<SessionDiagnosticEvent> { delivery.diagnosticEvents() }
    /// Forgets a peer that won't return. See ``LinkTransport/forget(_:)``.
    public func forget(_ peer: SessionPeer) { delivery.forget(peer) }

    public func sendWithNext(_ envelopes: [AnySessionSyncEnvelope], to peer: SessionPeer?) -> Bool {
        delivery.sendWithNext(envelopes, to: peer)
    }

    /// Sends an envelope with options such as a priority. See `LinkTransport` for the errors.
    public func send(
        _ envelope: AnySessionSyncEnvelope, mode: SessionDeliveryMode, to peer: SessionPeer?, options: DeliveryOptions
    ) async throws {
        try await delivery.send(envelope, mode: mode, to: peer, options: options)
    }
}
