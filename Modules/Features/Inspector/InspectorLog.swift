import MeshBus
import MeshDiagnostics

/// The newest entries of all sources, numbered anew in the order in which they came.
struct InspectorLog {
    private(set) var entries: [DiagnosticsEntry] = []
    private var count: UInt64 = 0
    let limit: Int

    init(limit: Int) {
        precondition(limit > 0, "an inspector needs room for one entry")
        self.limit = limit
    }

    mutating func add(_ entry: DiagnosticsEntry) {
        count += 1
        var entry = entry
        entry.number = count
        entries.append(entry)
        // Trimmed by halves, so that adding stays O(1).
        if entries.count >= limit * 2 { entries.removeFirst(entries.count - limit) }
    }

    /// At most that many with a higher number, oldest first; O(log entries) to find them.
    func entries(after number: UInt64, max: Int) -> ArraySlice<DiagnosticsEntry> {
        let kept = entries.suffix(limit)
        guard let first = kept.first?.number, number >= first else { return kept.prefix(max) }
        let skipped = number - first + 1
        return skipped >= UInt64(kept.count) ? [] : kept.dropFirst(Int(skipped)).prefix(max)
    }
}
