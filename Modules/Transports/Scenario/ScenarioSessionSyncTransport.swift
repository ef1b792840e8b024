@_exported public import MeshDelivery

/// One peer's end of a `ScenarioNetwork`: delivery over a `ScenarioLink`, in the network's time.
///
/// `LinkTransport` documents the guarantees of each mode and the errors of sends. Safe to use from any thread.
public final class ScenarioSessionSyncTransport: DeliveringTransport {
    /// The delivery over the link, with its health, options and diagnostics.
    public let delivery: LinkTransport

    init(_ delivery: LinkTransport) { self.delivery = delivery }
}
