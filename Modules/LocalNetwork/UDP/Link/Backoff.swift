#if UDP
    import MeshBus

    /// How long to wait before the next try: doubling from the shortest to the longest, of which up to the half is left away
    /// at random, so that many who lost the same peer do not come back in step.
    struct Backoff: Sendable {
        private let shortest: Duration
        private let longest: Duration
        private var current: Duration

        init(_ shortest: Duration, _ longest: Duration) {
            self.shortest = shortest
            self.longest = max(shortest, longest)
            current = shortest
        }

        mutating func next(_ random: inout SplitMix64) -> Duration {
            defer { current = min(current * 2, longest) }
            return current * (1 - random.fraction() / 2)
        }

        mutating func reset() { current = shortest }
    }
#endif
