/// The names that a reader has met in a message so far, as offsets and lengths.
@usableFromInline
struct NameIndex: ~Copyable {
    @usableFromInline
    struct Entry {
        @usableFromInline let offset: UInt32
        @usableFromInline let count: UInt32
    }

    @usableFromInline var entries: UnsafeMutablePointer<Entry>?
    private var capacity = 0
    private(set) var count = 0

    init() {}

    @inlinable deinit { entries?.deallocate() }

    /// Gives a name the next number. Does nothing if the reader has passed this offset before.
    mutating func define(offset: Int, count length: Int) {
        guard count < CompactLimit.texts else { return }
        if count == capacity { grow() }
        guard let entries else { return }
        if count > 0, entries[count - 1].offset >= offset { return }
        (entries + count).initialize(
            to: Entry(offset: UInt32(truncatingIfNeeded: offset), count: UInt32(truncatingIfNeeded: length)))
        count += 1
    }

    /// Discards all names. Keeps the memory for the next message, unless it has grown large.
    mutating func removeAll() {
        count = 0
        guard _slowPath(capacity > 512) else { return }
        entries?.deallocate()
        entries = nil
        capacity = 0
    }

    /// True if the name that was defined last is at that offset.
    func isLast(at offset: Int) -> Bool {
        guard let entries, count > 0 else { return false }
        return Int(entries[count - 1].offset) == offset
    }

    subscript(index: Int) -> Entry? {
        guard let entries, index >= 0, index < count else { return nil }
        return entries[index]
    }

    private mutating func grow() {
        let larger = UnsafeMutablePointer<Entry>.allocate(capacity: max(16, capacity * 2))
        if let entries {
            larger.moveInitialize(from: entries, count: count)
            entries.deallocate()
        }
        entries = larger
        capacity = max(16, capacity * 2)
    }
}
