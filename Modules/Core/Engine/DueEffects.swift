/// Confirmed entries whose side effects have not been marked, oldest first, and what the store knows of them.
@usableFromInline
struct DueEffects<Event: Sendable>: Sendable {
    /// A slice, because it gives up its beginning without moving the rest.
    @usableFromInline var entries: ArraySlice<ConfirmedEntry<Event>> = []
    /// So many of the first ones are in the store, or the caller has been told to write them.
    private var toldCount = 0
    /// So many of those have been marked since the caller was told.
    private var markedCount = 0
    /// Positions rise, unless this store goes on as another source after a fork and counts anew.
    private var isOrdered = true

    init() {}

    /// Those that a store has.
    init(stored: [ConfirmedEntry<Event>]) {
        for entry in stored { append(entry) }
        toldCount = entries.count
    }

    @inlinable var count: Int { entries.count }

    @usableFromInline
    mutating func append(_ entry: ConfirmedEntry<Event>) {
        if let last = entries.last, last.position >= entry.position { isOrdered = false }
        entries.append(entry)
    }

    /// Forgets everything up to a position. Complexity: O(what is forgotten).
    /// - Returns: nil when the store has to write all of them again, else how many were forgotten.
    mutating func mark(through position: UInt64) -> Int? {
        guard isOrdered else { return markUnordered(through: position) }
        let count = entries.prefix { $0.position <= position }.count
        entries = entries.dropFirst(count)
        if entries.isEmpty { entries = [] }
        let known = min(count, toldCount)
        toldCount -= known
        markedCount += known
        return count
    }

    private mutating func markUnordered(through position: UInt64) -> Int? {
        let before = entries.count
        entries.removeAll { $0.position <= position }
        guard entries.count < before else { return 0 }
        if entries.isEmpty { isOrdered = true }
        (toldCount, markedCount) = (entries.count, 0)
        return nil
    }

    /// What has changed since the last time.
    mutating func takeChanges() -> (marked: Int, added: Int) {
        defer {
            markedCount = 0
            toldCount = entries.count
        }
        return (markedCount, entries.count - toldCount)
    }
}
