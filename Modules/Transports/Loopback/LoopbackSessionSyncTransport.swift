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
/// Delivery over a `LoopbackLink`: when a send returns, subscribers have what was sent, or it waits for the slowest of
/// them. It knows no peer but itself, so `knownPeers` is empty and a send may name the local peer only. What each mode
/// guarantees, and what sends throw, is `LinkTransport`'s. Safe to use from any thread.
public final class LoopbackSessionSyncTransport: DeliveringTransport {
    /// The delivery over the link, with its options and diagnostics.
    public let delivery: LinkTransport

    /// Creates a transport that returns to this peer what it sends.
    ///
    /// - Parameters:
    ///   - budget: refuses larger payloads and says how they are written; nil leaves both to delivery.
    ///   - bufferLimit: elements that wait for one slow subscriber; see `TransportInbox`.
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
