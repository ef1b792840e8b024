@_exported public import MeshDelivery

/// One peer's end of a `ScenarioNetwork`: delivery over a `ScenarioLink`, in the network's time.
///
/// What each mode guarantees, and what sends throw, is `LinkTransport`'s. Safe to use from any thread.
public final class ScenarioSessionSyncTransport: DeliveringTransport {
    /// All of it: health, options, diagnostics.
    public let delivery: LinkTransport

    init(_ delivery: LinkTransport) { self.delivery = delivery }
}
