import MeshBase

/// A token bucket for each name, such as a user or an address.
///
/// Holds at most `namesMax` names. Beyond that it forgets names that weren't used for as long as a bucket takes to
/// fill. Their buckets are full, as a new one is. If that frees no space, it forgets the least recently used half.
/// Calls are O(1), amortized.
package struct KeyedBuckets: Sendable {
    package static let namesMax = 65_536

    private struct Entry {
        var bucket: TokenBucket
        var usedAt: Duration
        var returned = 0
    }

    private let perSecond: Double
    private let atOnce: Int
    private let namesMax: Int
    private var entries: [String: Entry] = [:]

    package init(perSecond: Double, atOnce: Int, namesMax: Int = Self.namesMax) {
        (self.perSecond, self.atOnce) = (perSecond, max(1, atOnce))
        self.namesMax = max(1, namesMax)
    }

    package var count: Int { entries.count }

    /// Takes one token of that name.
    ///
    /// - Returns: false when there is none.
    package mutating func take(_ name: String, _ now: Duration) -> Bool {
        if entries[name] == nil { evictIfFull(now) }
        var entry =
            entries.removeValue(forKey: name)
            ?? Entry(bucket: TokenBucket(perSecond: perSecond, atOnce: atOnce), usedAt: now)
        defer { entries[name] = entry }
        entry.usedAt = now
        guard entry.returned == 0 else {
            entry.returned -= 1
            return true
        }
        return entry.bucket.take(now)
    }

    /// Returns a token that wasn't needed.
    package mutating func giveBack(_ name: String) {
        guard let returned = entries[name]?.returned, returned < atOnce else { return }
        entries[name]?.returned = returned + 1
    }

    private mutating func evictIfFull(_ now: Duration) {
        guard entries.count >= namesMax else { return }
        let fillTime = Duration.seconds(Double(atOnce) / max(perSecond, 0.001))
        entries = entries.filter { now - $0.value.usedAt < fillTime }
        guard entries.count >= namesMax else { return }
        let oldest = entries.sorted { ($0.value.usedAt, $0.key) < ($1.value.usedAt, $1.key) }
        for (name, _) in oldest.prefix(max(1, namesMax / 2)) { entries[name] = nil }
    }
}
