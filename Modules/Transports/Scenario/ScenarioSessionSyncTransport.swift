@_exported public import MeshDelivery

/// One peer's end of a `ScenarioNetwork`: delivery over a `ScenarioLink`, in the network's time.
///
/// What each mode guarantees, and what sends throw, is `LinkTransport`'s. Safe to use from any thread.
public final class ScenarioSessionSyncTransport: DeliveringTransport {
    /// The delivery over the link, with its health, options and diagnostics.
    public let delivery: LinkTransport

    init(_ delivery: LinkTransport) { self.delivery = delivery }
}
