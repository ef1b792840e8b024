/// How long to wait before the next try: doubling from the shortest to the longest.
package struct Backoff: Sendable {
    private let shortest: Duration
    private let longest: Duration
    private var current: Duration

    package init(from shortest: Duration, to longest: Duration) {
        self.shortest = shortest
        self.longest = max(shortest, longest)
        current = shortest
    }

    package mutating func next() -> Duration {
        defer { current = min(current * 2, longest) }
        return current
    }

    /// The same, of which up to the half is left away at random, so that many who lost the same peer do not come back in
    /// step.
    package mutating func next(_ random: inout SplitMix64) -> Duration { next() * (1 - random.fraction() / 2) }

    /// Something has succeeded.
    package mutating func reset() { current = shortest }
}
