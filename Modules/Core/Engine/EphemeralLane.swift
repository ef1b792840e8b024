public import MeshIdentity

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// The newest sample of each key, such as a heart rate: the last value wins, and none is ever missed.
///
/// Samples have a sequence of their own, outside the session's: a lost one is no gap, asks for nothing and is never
/// resent, logged or confirmed. At most `keysMax` keys are kept; the one that has been silent longest makes room.
public struct EphemeralLane<Value: Codable & Sendable>: Sendable {
    /// A value on its way.
    public struct Sample: Codable, Sendable {
        public var source: SessionSource
        public var key: String
        public var sequence: UInt64
        public var stamp: HybridTimestamp
        public var value: Value

        public init(source: SessionSource, key: String, sequence: UInt64, stamp: HybridTimestamp, value: Value) {
            self.source = source
            self.key = key
            self.sequence = sequence
            self.stamp = stamp
            self.value = value
        }
    }

    public let source: SessionSource
    public let keysMax: Int
    private var newest: [String: Sample] = [:]
    private var clock = HybridLogicalClock()
    private var sequence: UInt64 = 0

    public init(source: SessionSource, keysMax: Int = 256) {
        self.source = source
        self.keysMax = max(1, keysMax)
    }

    /// The newest value of a key, whoever sampled it.
    public subscript(key: String) -> Sample? { newest[key] }

    /// Newest values, in the order of their keys.
    public var samples: [Sample] { newest.values.sorted { $0.key < $1.key } }

    /// Keeps a local value and returns what to send. O(1) while there is room.
    public mutating func record(_ value: Value, for key: String, at moment: Date) -> Sample {
        sequence += 1
        let stamp = clock.tick(wallMilliseconds: moment.millisecondsSince1970)
        let sample = Sample(source: source, key: key, sequence: sequence, stamp: stamp, value: value)
        keep(sample)
        return sample
    }

    /// Takes a peer's sample; one that is older than what is kept changes nothing.
    /// - Returns: whether it is the newest of its key now.
    @discardableResult
    public mutating func receive(_ sample: Sample) -> Bool {
        guard clock.observe(sample.stamp) else { return false }
        if let known = newest[sample.key], known.order >= sample.order { return false }
        keep(sample)
        return true
    }

    private mutating func keep(_ sample: Sample) {
        if newest[sample.key] == nil, newest.count >= keysMax,
            let silent = newest.values.min(by: { $0.order < $1.order })
        {
            newest[silent.key] = nil
        }
        newest[sample.key] = sample
    }
}

extension EphemeralLane.Sample {
    fileprivate var order: (HybridTimestamp, SessionSource, UInt64) { (stamp, source, sequence) }
}

extension EphemeralLane.Sample: Equatable where Value: Equatable {}
