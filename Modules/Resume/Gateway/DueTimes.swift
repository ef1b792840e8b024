/// Which connections are to be looked at by when, in slots of a second: entering costs O(1), taking O(slots ahead + what is
/// taken + what is due later in the present second). An entry is never withdrawn; the core sees when it is outdated.
struct DueTimes: Sendable {
    struct Entry: Hashable, Sendable {
        let key: Int
        let due: Duration
    }

    private var slots: [Int64: [Entry]] = [:]

    mutating func enter(_ entry: Entry) { slots[Self.slot(of: entry.due), default: []].append(entry) }

    /// - Returns: what is due at that time or was before, by key.
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
