package import MeshFoundation
package import MeshIdentity

/// The newest sample of each peer's keys, such as a heart rate: the last value wins, and none is ever missed.
///
/// Samples have a sequence of their own, outside the session's: a lost one is no gap, asks for nothing and is never
/// resent, logged or confirmed. Of a peer at most `keysMax` keys are kept; the one that has been silent longest makes room,
/// and so does the peer that has, of `peersMax`.
public struct EphemeralLane<Value: Codable & Sendable>: Sendable {
    /// A value on its way.
    public struct Sample: Codable, Sendable {
        /// Who wrote it.
        package var source: SessionSource
        /// What it is a value of, such as `heart-rate`.
        package var key: String
        /// Counts the samples of one source, over all its keys.
        package var sequence: UInt64
        /// When it was written, on the source's hybrid clock.
        package var stamp: HybridTimestamp
        /// What is to be shown.
        package var value: Value

        /// A sample as it arrived.
        package init(source: SessionSource, key: String, sequence: UInt64, stamp: HybridTimestamp, value: Value) {
            self.source = source
            self.key = key
            self.sequence = sequence
            self.stamp = stamp
            self.value = value
        }
    }

    /// Keys kept of one peer.
    package let keysMax: Int
    /// Peers of which samples are kept.
    package let peersMax: Int
    /// In whose name samples are written here.
    package private(set) var source: SessionSource
    /// By peer, then by key.
    private var newest: [String: [String: Sample]] = [:]
    private var clock = HybridLogicalClock()
    private var sequence: UInt64 = 0

    /// An empty lane. At least one key and two peers are kept, whatever is asked.
    package init(source: SessionSource, keysMax: Int = 256, peersMax: Int = 64) {
        self.source = source
        self.keysMax = max(1, keysMax)
        self.peersMax = max(2, peersMax)
    }

    /// The newest value of a key, whoever sampled it. Complexity: O(peers).
    package subscript(key: String) -> Sample? { newest.values.compactMap { $0[key] }.max { $0.order < $1.order } }

    /// The newest that a peer has sampled.
    package subscript(key: String, by peerID: String) -> Sample? { newest[peerID]?[key] }

    /// Newest values of all peers, in the order of their keys, then of their peers.
    package var samples: [Sample] {
        newest.values.flatMap(\.values).sorted { ($0.key, $0.source) < ($1.key, $1.source) }
    }

    /// Newest values of a peer, in the order of their keys.
    package func samples(of peerID: String) -> [Sample] {
        newest[peerID].map { $0.values.sorted { $0.key < $1.key } } ?? []
    }

    /// Keeps a local value and returns what to send. O(1) while there is room.
    package mutating func record(_ value: Value, for key: String, at moment: Date) -> Sample {
        sequence += 1
        let stamp = clock.tick(wallMilliseconds: moment.millisecondsSince1970)
        let sample = Sample(source: source, key: key, sequence: sequence, stamp: stamp, value: value)
        keep(sample)
        return sample
    }

    /// Takes a peer's sample; one that is older than what is kept changes nothing, and the first of another life of the peer
    /// takes the place of all that the earlier one had. The local clock follows nobody's stamps.
    /// - Returns: whether it is the peer's newest of its key now.
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

    /// Goes on in another name of the local peer's, with all that it has sampled.
    package mutating func rename(_ source: SessionSource) {
        guard source != self.source else { return }
        newest[source.peerID] = newest.removeValue(forKey: self.source.peerID)?.mapValues { sample in
            var sample = sample
            sample.source = source
            return sample
        }
        self.source = source
    }

    /// What that peer has sampled is gone.
    /// - Returns: whether there was anything.
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
