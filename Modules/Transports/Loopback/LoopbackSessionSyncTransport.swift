import MeshBase
@_exported public import MeshDelivery
public import MeshIdentity
public import MeshTransport

/// Own sends come back at once: a whole session in one process, for previews and tests.
///
/// Delivery over a `LoopbackLink`: when a send returns, subscribers have what was sent, or it waits for the slowest of
/// them. It knows no peer but itself, so `knownPeers` is empty and a send may name the local peer only. What each mode
/// guarantees, and what sends throw, is `LinkTransport`'s. Safe to use from any thread.
public final class LoopbackSessionSyncTransport: DeliveringTransport {
    /// All of it: options, diagnostics.
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
