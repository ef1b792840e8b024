import MeshBase
import MeshDiagnostics

/// The newest entries of all sources, numbered in order of arrival.
///
/// Keeps at most `limit` entries and `byteCountMax` bytes, and drops the oldest first. Always keeps the newest entry, whatever
/// its size.
struct InspectorLog {
    private var held: [DiagnosticsEntry] = []
    private var byteCount = 0
    private var count: UInt64 = 0
    let limit: Int
    let byteCountMax: Int

    init(limit: Int, byteCountMax: Int = .max) {
        precondition(limit > 0, "an inspector's limit must be at least one entry")
        self.limit = limit
        self.byteCountMax = byteCountMax
    }

    var entries: ArraySlice<DiagnosticsEntry> { held.suffix(limit) }

    mutating func add(_ entry: DiagnosticsEntry) {
        count += 1
        var entry = entry
        entry.number = count
        held.append(entry)
        byteCount += entry.byteCount
        if held.count >= limit * 2 || byteCount > byteCountMax { trim() }
    }

    /// Drops half of the entries or a quarter of the bytes at a time, so that adding takes O(1) on average.
    private mutating func trim() {
        var excess = max(held.count - limit, 0)
        var left = byteCount - held.prefix(excess).reduce(0) { $0 + $1.byteCount }
        if left > byteCountMax {
            while left > byteCountMax / 4 * 3, excess < held.count - 1 {
                left -= held[excess].byteCount
                excess += 1
            }
        }
        held.removeFirst(excess)
        byteCount = left
    }

    /// Returns at most `max` entries with numbers above `number`, oldest first. Finds the first one in O(1).
    func entries(after number: UInt64, max: Int) -> ArraySlice<DiagnosticsEntry> {
        let kept = entries
        guard let first = kept.first?.number, number >= first else { return kept.prefix(max) }
        let skipped = number - first + 1
        return skipped >= UInt64(kept.count) ? [] : kept.dropFirst(Int(skipped)).prefix(max)
    }
}

extension DiagnosticsEntry {
    /// The approximate number of bytes in memory.
    fileprivate var byteCount: Int {
        let texts = [peer, from, to, feature, payloadType, message, mode, codec, text, state, event]
        let tables = (vector?.keys).map { $0.reduce(0) { $0 + $1.utf8.count + 32 } } ?? 0
        return MemoryLayout<Self>.stride + texts.reduce(0) { $0 + ($1?.utf8.count ?? 0) } + tables
            + (sync ?? [:]).reduce(0) { $0 + $1.key.utf8.count + $1.value.utf8.count + 48 }
    }
}
