import MeshBase
@_exported public import MeshDelivery
public import MeshIdentity
public import MeshTransport

/// A transport that returns a peer's own messages to it at once, for previews and tests of one device.
///
/// ```swift
/// let game = SharedSession(Score(), over: LoopbackSessionSyncTransport(localPeer: .thisDevice()))
/// game.send(.home)                                      // in a preview: no other device
/// ```
///
/// Delivery over a `LoopbackLink`: when a send returns, subscribers have the message, or it waits for the slowest of
/// them. It knows no peer but itself, so `knownPeers` is empty and a send may name only the local peer. `LinkTransport`
/// documents the guarantees of each mode and the errors of sends. Safe to use from any thread.
public final class LoopbackSessionSyncTransport: DeliveringTransport {
    /// The delivery over the link, with its options and diagnostics.
    public let delivery: LinkTransport

    /// Creates a transport that returns this peer's own messages.
    ///
    /// - Parameters:
    ///   - budget: the payload limit and the codec; nil leaves both to delivery.
    ///   - bufferLimit: maximum number of elements that wait for one slow subscriber; see `TransportInbox`.
    public init(localPeer: SessionPeer, budget: PayloadBudget? = nil, bufferLimit: Int = 4096) {
        var configuration = DeliveryConfiguration()
        configuration.bufferLimit = bufferLimit
        if let budget {
            configuration.payloadLimit = budget.limit
            configuration.codec = budget.codec
        }
        do {
            delivery = try LinkTransport(localPeer: localPeer, link: LoopbackLink(), configuration: configuration)
            try delivery.start()
        } catch {
            preconditionFailure("without a store, and with a link of its own, nothing can fail: \(error)")
        }
    }
}
