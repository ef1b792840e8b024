#if Redis
    internal import MeshBase
    internal import MeshIdentity

    /// Maps each stream to its shard by rendezvous hashing, also called highest random weight.
    ///
    /// Each shard's name and the stream give a weight, and the shard of the highest weight has the stream (D. Thaler,
    /// C. Ravishankar: "Using name-based mappings to increase hit rates", IEEE/ACM Transactions on Networking 6(1),
    /// 1998). A new shard takes 1/n of the streams, the same number from each of the others. If a shard is removed,
    /// only its own streams move.
    ///
    /// Jump hash (J. Lamping, E. Veach: "A fast, minimal memory, consistent hash algorithm", 2014) has the same shares
    /// and is O(log n), but numbers its shards, and only the last one can be removed. Here, any shard may have to be
    /// removed: the one that failed. With at most 64 shards O(n) costs less than one question to Redis.
    ///
    /// All processes of all versions must place a stream on the same shard, so the weights never change.
    struct ShardPlacement: Hashable, Sendable {
        private let seeds: [UInt64]
        /// The digest of the names, in any order. It is 0 for a single shard, which has all streams whatever it is called.
        let digest: UInt64

        /// - Parameter names: at least one, without duplicates.
        init(_ names: [String]) {
            seeds = names.map(Self.hash)
            digest = names.count == 1 ? 0 : Self.hash(names.sorted().joined(separator: "\n"))
        }

        /// Returns the index of the stream's shard. O(shards).
        func shard(of stream: String) -> Int {
            guard seeds.count > 1 else { return 0 }
            let hash = Self.hash(stream)
            var best = (index: 0, weight: UInt64(0))
            for (index, seed) in seeds.enumerated() {
                let weight = Self.mix(hash ^ seed)
                // No tie: different seeds have different weights, because mixing is a bijection.
                if weight >= best.weight { best = (index, weight) }
            }
            return best.index
        }

        private static func hash(_ text: String) -> UInt64 { StableHash(Array(text.utf8)).low }

        private static func mix(_ word: UInt64) -> UInt64 {
            var random = SplitMix64(seed: word)
            return random.next()
        }
    }
#endif
