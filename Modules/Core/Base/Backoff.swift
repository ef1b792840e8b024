/// Exponential backoff: the wait before the next attempt doubles from the shortest to the longest.
package struct Backoff: Hashable, Sendable {
    private let shortest: Duration
    private let longest: Duration
    package private(set) var wait: Duration

    package init(from shortest: Duration, to longest: Duration) {
        self.shortest = shortest
        self.longest = max(shortest, longest)
        wait = shortest
    }

    package mutating func next() -> Duration {
        defer { wait = min(wait * 2, longest) }
        return wait
    }

    /// Returns `next()`, randomly shortened by up to half, so that clients of a failed server don't all return at once.
    package mutating func next(_ random: inout SplitMix64) -> Duration { next() * (1 - random.fraction() / 2) }

    /// Resets the wait to the shortest. Call it when an attempt has succeeded.
    package mutating func reset() { wait = shortest }
}
