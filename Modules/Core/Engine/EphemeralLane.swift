package import MeshFoundation
package import MeshIdentity

/// The newest sample of each peer's keys, such as a heart rate. The last value wins, and lost samples don't matter.
///
/// Samples have a sequence of their own, outside the session's. A lost one is no gap: it is never requested, resent,
/// logged or confirmed. The lane keeps at most `keysMax` keys of a peer, and at most `peersMax` peers. Beyond that, it
/// drops the key or peer whose newest sample has the lowest stamp.
public struct EphemeralLane<Value: Codable & Sendable>: Sendable {
    /// A value of a key, as it is sent.
    public struct Sample: Codable, Sendable {
        /// The source that wrote the sample.
        package var source: SessionSource
        /// The key of the value, such as `heart-rate`.
        package var key: String
        /// The sample's number, counted by its source across all keys.
        package var sequence: UInt64
        /// The time of writing, by the source's hybrid clock.
        package var stamp: HybridTimestamp
        /// The value to show.
        package var value: Value

        /// Creates a sample from its fields.
        package init(source: SessionSource, key: String, sequence: UInt64, stamp: HybridTimestamp, value: Value) {
            self.source = source
            self.key = key
            self.sequence = sequence
            self.stamp = stamp
            self.value = value
        }
    }

    /// Maximum number of keys kept of one peer.
    package let keysMax: Int
    /// Maximum number of peers whose samples are kept.
    package let peersMax: Int
    /// The source that writes samples here.
    package private(set) var source: SessionSource
    /// The newest samples by peer, then by key.
    private var newest: [String: [String: Sample]] = [:]
    private var clock = HybridLogicalClock()
    private var sequence: UInt64 = 0

    /// Creates an empty lane. It keeps at least one key and two peers, even if you ask for less.
    package init(source: SessionSource, keysMax: Int = 256, peersMax: Int = 64) {
        self.source = source
        self.keysMax = max(1, keysMax)
        self.peersMax = max(2, peersMax)
    }

    /// The newest sample of a key, across all peers and this device. Complexity: O(peers).
    package subscript(key: String) -> Sample? { newest.values.compactMap { $0[key] }.max { $0.order < $1.order } }

    /// The newest sample of a peer for a key.
    package subscript(key: String, by peerID: String) -> Sample? { newest[peerID]?[key] }

    /// The newest values of all peers, ordered by key, then by source.
    package var samples: [Sample] {
        newest.values.flatMap(\.values).sorted { ($0.key, $0.source) < ($1.key, $1.source) }
    }

    /// The newest values of a peer, ordered by key.
    package func samples(of peerID: String) -> [Sample] {
        newest[peerID].map { $0.values.sorted { $0.key < $1.key } } ?? []
    }

    /// Keeps a local value and returns the sample to send. O(1) while there is space.
    package mutating func record(_ value: Value, for key: String, at moment: Date) -> Sample {
        sequence += 1
        let stamp = clock.tick(wallMilliseconds: moment.millisecondsSince1970)
        let sample = Sample(source: source, key: key, sequence: sequence, stamp: stamp, value: value)
        keep(sample)
        return sample
    }

    /// Takes a peer's sample, unless a newer one for its key is known. The first sample of another incarnation replaces
    /// all samples of the earlier one. The local clock doesn't follow peers' stamps.
    /// - Returns: true if the sample is now the peer's newest of its key.
    @discardableResult
    package mutating func receive(_ sample: Sample) -> Bool {
        guard sample.stamp.isUsable, sample.source.peerID != source.peerID else { return false }
        if let peer = newest[sample.source.peerID], peer.values.contains(where: { $0.source != sample.source }) {
            newest[sample.source.peerID] = nil
        }
        if let known = newest[sample.source.peerID]?[sample.key], known.order >= sample.order { return false }
        keep(sample)
        return true
    }

    /// Renames the local source, and its samples with it.
    package mutating func rename(_ source: SessionSource) {
        guard source != self.source else { return }
        newest[source.peerID] = newest.removeValue(forKey: self.source.peerID)?.mapValues { sample in
            var sample = sample
            sample.source = source
            return sample
        }
        self.source = source
    }

    /// Drops all samples of a peer.
    /// - Returns: true if there were any.
    @discardableResult
    package mutating func forget(_ peerID: String) -> Bool { newest.removeValue(forKey: peerID) != nil }

    private mutating func keep(_ sample: Sample) {
        let peerID = sample.source.peerID
        if newest[peerID] == nil, newest.count >= peersMax, let silent = silentPeer { newest[silent] = nil }
        if let known = newest[peerID], known[sample.key] == nil, known.count >= keysMax,
            let silent = known.values.min(by: { $0.order < $1.order })
        {
            newest[peerID]?[silent.key] = nil
        }
        newest[peerID, default: [:]][sample.key] = sample
    }

    private var silentPeer: String? {
        newest.filter { $0.key != source.peerID }
            .min { ($0.value.values.map(\.stamp).max() ?? .zero) < ($1.value.values.map(\.stamp).max() ?? .zero) }?.key
    }
}

extension EphemeralLane.Sample {
    fileprivate var order: (HybridTimestamp, SessionSource, UInt64) { (stamp, source, sequence) }
}

extension EphemeralLane.Sample: Equatable where Value: Equatable {}
