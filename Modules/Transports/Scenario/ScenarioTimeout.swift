public import MeshBase

/// An error: a condition didn't hold within the virtual time.
public struct ScenarioTimeout: ExplainedError, Hashable {
    /// The virtual time that passed.
    public let limit: Duration
    /// The seed of the network.
    public let seed: UInt64

    public var description: String { "the condition didn't hold within \(limit.seconds) virtual seconds; seed \(seed)" }
    public var advice: String { "Run it again with the same seed, and look at the network's trace." }
}
