/// The numbered strings that a reader has met in a message so far: their offsets, and the values of repeated ones.
///
/// All repetitions of a string share one storage, and a repeated enum case needs no string at all.
/// At most `CompactLimit.texts` entries of 40 bytes.
@usableFromInline
struct StringIndex: ~Copyable {
    private struct Entry {
        let offset: UInt32
        let count: UInt32
        /// The decoded string. Empty until first repeated, because most strings never are; empty ones have no number.
        var text = ""
        /// The enum type that last read this string as a case. `caseByte` is the case.
        var owner: ObjectIdentifier?
        var caseByte: UInt8 = 0
    }

    private var entries: UnsafeMutablePointer<Entry>?
    private var capacity = 0
    private(set) var count = 0
    /// Index of the string that was read last; -1 if it has no number.
    private var last = -1

    init() {}

    @usableFromInline deinit {
        entries?.deinitialize(count: count)
        entries?.deallocate()
    }

    /// Discards all strings. Keeps the memory for the next message, unless it has grown large.
    mutating func removeAll() {
        guard count > 0 else { return }
        entries?.deinitialize(count: count)
        count = 0
        last = -1
        guard _slowPath(capacity > 512) else { return }
        entries?.deallocate()
        entries = nil
        capacity = 0
    }

    /// Gives a string the next number. Numbers nothing if the reader has passed this offset before.
    mutating func define(offset: Int, count length: Int) {
        last = -1
        guard length >= CompactLimit.repeatedStringBytesMin, count < CompactLimit.texts else { return }
        if count == capacity { grow() }
        guard let entries else { return }
        if count > 0, entries[count - 1].offset >= offset { return }
        (entries + count).initialize(
            to: Entry(offset: UInt32(truncatingIfNeeded: offset), count: UInt32(truncatingIfNeeded: length)))
        last = count
        count += 1
    }

    /// - Parameter base: Address of the message's first byte.
    /// - Throws: `corrupted` if the message has no string with that number yet, or if the string isn't UTF-8.
    mutating func text(_ index: UInt64, in base: UnsafeRawPointer) throws(WireError) -> String {
        guard let entries, index < UInt64(count) else {
            throw WireError(.corrupted, "string \(index) has not been written yet")
        }
        last = Int(index)
        let entry = entries + last
        if entry.pointee.text.isEmpty {
            entry.pointee.text = try String(
                wire: UnsafeRawBufferPointer(
                    start: base + Int(entry.pointee.offset), count: Int(entry.pointee.count)))
        }
        return entry.pointee.text
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

// MARK: - Cases

extension StringIndex {
    /// Returns the case that was read from a string; nil unless the same enum was the last to read it as a case.
    func caseByte(_ index: UInt64, of owner: ObjectIdentifier) -> UInt8? {
        guard let entries, index < UInt64(count) else { return nil }
        let entry = entries + Int(index)
        return entry.pointee.owner == owner ? entry.pointee.caseByte : nil
    }

    /// Remembers the case that was read from the last string.
    mutating func cacheCase(_ byte: UInt8, of owner: ObjectIdentifier) {
        guard let entries, last >= 0 else { return }
        entries[last].owner = owner
        entries[last].caseByte = byte
    }
}

extension CompactReader {
    /// Reads a reference to a string that the enum has read as a case before.
    /// - Returns: The case as its byte in memory; nil, without moving, if the string is new to that enum.
    @usableFromInline
    mutating func readRepeatedCase(of owner: ObjectIdentifier) throws(WireError) -> UInt8? {
        let start = bytes.cursor
        if let byte = strings.caseByte(try bytes.readVarint(), of: owner) { return byte }
        bytes.cursor = start
        return nil
    }

    @usableFromInline
    mutating func cacheCase(_ byte: UInt8, of owner: ObjectIdentifier) { strings.cacheCase(byte, of: owner) }
}
