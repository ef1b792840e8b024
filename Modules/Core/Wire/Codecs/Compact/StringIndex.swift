/// The strings that a message has written so far, for a reader: where each lies, and what was made of it.
///
/// A repeated string is then the same object as the first, and a repeated case of an enum needs no string at all.
/// At most `CompactLimit.texts` entries of 48 bytes.
@usableFromInline
struct StringIndex: ~Copyable {
    private struct Entry {
        let offset: UInt32
        let count: UInt32
        /// Empty until somebody reads it: no string is numbered that is.
        var text = ""
        /// The enum of which the string was read as a case, and that case.
        var owner: ObjectIdentifier?
        var caseByte: UInt8 = 0
    }

    private var entries: UnsafeMutablePointer<Entry>?
    private var capacity = 0
    private(set) var count = 0
    /// The string that was read last; -1 when it has no number.
    private var last = -1

    init() {}

    @usableFromInline deinit {
        entries?.deinitialize(count: count)
        entries?.deallocate()
    }

    /// Forgets all strings and keeps the memory for the next message, unless it has grown large.
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

    /// Notes a string when the message is read up to it for the first time; a second pass changes nothing.
    ///
    /// - Parameter text: empty when it was skipped.
    mutating func define(offset: Int, count length: Int, text: String) {
        last = -1
        guard length >= CompactLimit.repeatedStringBytesMin, count < CompactLimit.texts else { return }
        if count == capacity { grow() }
        guard let entries else { return }
        if count > 0, entries[count - 1].offset >= offset { return }
        (entries + count).initialize(
            to: Entry(
                offset: UInt32(truncatingIfNeeded: offset), count: UInt32(truncatingIfNeeded: length), text: text))
        last = count
        count += 1
    }

    /// - Parameter base: where the message begins.
    /// - Throws: `corrupted` when the message has no such string before, or it is not UTF-8.
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
    /// The case that was made of a string, if it was read as one of that enum before.
    func caseByte(_ index: UInt64, of owner: ObjectIdentifier) -> UInt8? {
        guard let entries, index < UInt64(count) else { return nil }
        let entry = entries + Int(index)
        return entry.pointee.owner == owner ? entry.pointee.caseByte : nil
    }

    /// What was made of the string that was read last.
    mutating func noteCase(_ byte: UInt8, of owner: ObjectIdentifier) {
        guard let entries, last >= 0 else { return }
        entries[last].owner = owner
        entries[last].caseByte = byte
    }
}

extension CompactReader {
    /// Reads a string that has been read as a case of that enum before.
    /// - Returns: the memory of the case; nil when there is none and nothing has been read.
    @usableFromInline
    mutating func readRepeatedCase(of owner: ObjectIdentifier) throws(WireError) -> UInt8? {
        let start = bytes.cursor
        if let byte = strings.caseByte(try bytes.readVarint(), of: owner) { return byte }
        bytes.cursor = start
        return nil
    }

    @usableFromInline
    mutating func noteCase(_ byte: UInt8, of owner: ObjectIdentifier) { strings.noteCase(byte, of: owner) }
}
