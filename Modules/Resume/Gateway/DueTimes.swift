/// The times at which connections must be checked, in slots of a second. Entering costs O(1). Taking costs O(slots ahead +
/// entries taken + entries due later in the current second). Entries can't be withdrawn, so the core ignores outdated ones.
struct DueTimes: Sendable {
    struct Entry: Hashable, Sendable {
        let key: Int
        let due: Duration
    }

    private var slots: [Int64: [Entry]] = [:]

    mutating func enter(_ entry: Entry) { slots[Self.slot(of: entry.due), default: []].append(entry) }

    /// - Returns: the entries due at or before that time, by key.
    mutating func take(_ now: Duration) -> [Entry] {
        var taken: [Entry] = []
        for slot in slots.keys.sorted() where slot <= Self.slot(of: now) {
            let entries = slots.removeValue(forKey: slot) ?? []
            taken += entries.filter { $0.due <= now }
            let later = entries.filter { $0.due > now }
            if !later.isEmpty { slots[slot] = later }
        }
        return taken.sorted { ($0.key, $0.due) < ($1.key, $1.due) }
    }

    private static func slot(of time: Duration) -> Int64 { time.components.seconds }
}
