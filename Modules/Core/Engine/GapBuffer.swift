/// Events of one source that came before earlier ones, by sequence.
///
/// Bounded by the engine's `gapMax` and in bytes; what does not fit is dropped and asked for again. What is in here is not
/// held: it is never acknowledged, and no promise counts on it.
@usableFromInline
struct GapBuffer<Event: Sendable>: Sendable {
    private(set) var entries: [LogEntry<Event>] = []
    private var byteCount = 0

    /// What the entries of one source may weigh, where somebody counts.
    static var bytesMax: Int { 8 << 20 }

    init() {}

    @usableFromInline var isEmpty: Bool { entries.isEmpty }
    var count: Int { entries.count }
    var first: LogEntry<Event>? { entries.first }
    var last: UInt64 { entries.last?.sequence ?? 0 }

    /// Takes the entry unless it is there or there is no room.
    mutating func insert(_ entry: LogEntry<Event>, limit: Int) {
        let place = entries.firstIndex { $0.sequence >= entry.sequence } ?? entries.count
        guard place == entries.count || entries[place].sequence != entry.sequence else { return }
        entries.insert(entry, at: place)
        byteCount += Int(entry.byteCount)
        // What is nearest to the gap is worth most; the first one always has room.
        while entries.count > limit || (byteCount > Self.bytesMax && entries.count > 1) {
            byteCount -= Int(entries.removeLast().byteCount)
        }
    }

    mutating func move(to slot: Int) { entries = entries.map { $0.moved(to: slot) } }

    /// The entry of that sequence; earlier ones are dropped.
    mutating func next(_ sequence: UInt64) -> LogEntry<Event>? {
        if entries.isEmpty { return nil }
        let passed = entries.prefix { $0.sequence < sequence }.count
        for entry in entries.prefix(passed) { byteCount -= Int(entry.byteCount) }
        if passed > 0 { entries.removeFirst(passed) }
        guard entries.first?.sequence == sequence else { return nil }
        byteCount -= Int(entries[0].byteCount)
        return entries.removeFirst()
    }
}
