/// What became of many seeds of a simulation.
public protocol SeedReport: Sendable, Encodable {
    var seeds: Int { get }
    var failures: [SeedFailure] { get }
    /// How often each fault was played.
    var faults: [String: Int] { get }
    var simulatedSeconds: Double { get }
    var wallSeconds: Double { get }
}

/// A seed of which not everything held.
public struct SeedFailure: Sendable, Encodable {
    public let seed: UInt64
    public let reason: String
}
