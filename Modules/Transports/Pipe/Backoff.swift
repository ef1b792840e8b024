import MeshBus

/// How long to wait before the next try: 100 ms doubling to 5 s, of which up to the half is left away at random, so that
/// many who lost the same peer do not come back in step.
struct Backoff {
    private static let shortest = Duration.milliseconds(100)
    private static let longest = Duration.seconds(5)

    private var random: SplitMix64
    private var current = Backoff.shortest

    init(seed: UInt64) { random = SplitMix64(seed: seed) }

    mutating func next() -> Duration {
        defer { current = min(current * 2, Self.longest) }
        return current * (1 - random.fraction() / 2)
    }

    mutating func reset() { current = Self.shortest }
}
