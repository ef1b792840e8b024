/// The texts that a message has defined so far, for a reader: where each lies in the message.
@usableFromInline
struct TextIndex: ~Copyable {
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

    /// Notes a text when the message is read up to it for the first time; a second pass changes nothing.
    mutating func define(offset: Int, count length: Int) {
        guard count < CompactLimit.texts else { return }
        if count == capacity { grow() }
        guard let entries else { return }
        if count > 0, entries[count - 1].offset >= offset { return }
        (entries + count).initialize(
            to: Entry(offset: UInt32(truncatingIfNeeded: offset), count: UInt32(truncatingIfNeeded: length)))
        count += 1
    }

    /// Forgets all texts and keeps the memory for the next message.
    mutating func removeAll() { count = 0 }

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

/// The texts that a message has defined so far, for a writer: an open hash table over the bytes written.
@usableFromInline
struct SeenTexts: ~Copyable {
    @usableFromInline
    struct Slot {
        var count: UInt32
        var offset: UInt32
        var hash: UInt32
        var index: UInt16
        /// The message of which this is a text; in any other the slot is empty.
        var message: UInt16

        static var empty: Slot { Slot(count: 0, offset: 0, hash: 0, index: 0, message: 0) }
    }

    @usableFromInline var slots: UnsafeMutablePointer<Slot>?
    private var mask = 0
    private(set) var count = 0
    /// Counts messages, so that texts of earlier ones need not be removed.
    private var message: UInt16 = 1

    init() {}

    @inlinable deinit { slots?.deallocate() }

    /// The number of a text if it has been defined, else nil; the caller then writes it out and calls `define`.
    @inline(__always)
    func find(_ text: UnsafeRawBufferPointer, hash: UInt32, in base: UnsafeRawPointer) -> Int? {
        guard let slots else { return nil }
        var position = Int(hash) & mask
        while slots[position].message == message {
            let slot = slots[position]
            if slot.hash == hash, Int(slot.count) == text.count,
                UnsafeRawBufferPointer(start: base + Int(slot.offset), count: text.count).hasBytes(text)
            {
                return Int(slot.index)
            }
            position = (position &+ 1) & mask
        }
        return nil
    }

    /// Numbers a text that now lies at `offset`. Every text that a reader numbers must be defined here too.
    @inline(__always)
    mutating func define(_ text: UnsafeRawBufferPointer, hash: UInt32, offset: Int) {
        guard count < CompactLimit.texts else { return }
        if (count + 1) * 2 > mask { grow() }
        // An empty text has a number too, and is spelled out each time.
        if text.count > 0 {
            insert(
                Slot(
                    count: UInt32(truncatingIfNeeded: text.count), offset: UInt32(truncatingIfNeeded: offset),
                    hash: hash, index: UInt16(truncatingIfNeeded: count), message: message))
        }
        count += 1
    }

    /// Forgets all texts and keeps the table for the next message, unless it has grown large.
    mutating func removeAll() {
        guard count > 0, let slots else { return }
        count = 0
        message &+= 1
        if mask >= 512 {
            slots.deallocate()
            self.slots = nil
            mask = 0
        } else if message == 0 {
            slots.update(repeating: .empty, count: mask + 1)
        }
        if message == 0 { message = 1 }
    }

    /// Follows bytes that have moved: every text at or after `offset` now lies `distance` further on.
    mutating func move(from offset: Int, by distance: Int) {
        guard let slots else { return }
        for position in 0...mask where slots[position].message == message && Int(slots[position].offset) >= offset {
            slots[position].offset += UInt32(truncatingIfNeeded: distance)
        }
    }

    @inline(__always)
    private mutating func insert(_ slot: Slot) {
        guard let slots else { return }
        var position = Int(slot.hash) & mask
        while slots[position].message == message { position = (position &+ 1) & mask }
        slots[position] = slot
    }

    @inline(never)
    private mutating func grow() {
        let old = slots
        let oldCount = old == nil ? 0 : mask + 1
        let capacity = max(64, oldCount * 2)
        let larger = UnsafeMutablePointer<Slot>.allocate(capacity: capacity)
        larger.initialize(repeating: .empty, count: capacity)
        slots = larger
        mask = capacity - 1
        guard let old else { return }
        for position in 0..<oldCount where old[position].message == message { insert(old[position]) }
        old.deallocate()
    }

    /// The same for the same text in every process, so that equal messages are equal bytes.
    static func hash(_ bytes: UnsafeRawBufferPointer) -> UInt32 {
        var hash = UInt64(truncatingIfNeeded: bytes.count) &* 0x9e37_79b9_7f4a_7c15
        var offset = 0
        while offset + 8 <= bytes.count {
            hash = mix(hash, UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self)))
            offset += 8
        }
        var rest: UInt64 = 0
        while offset < bytes.count {
            rest = rest << 8 | UInt64(bytes[offset])
            offset += 1
        }
        hash = mix(hash, rest)
        return UInt32(truncatingIfNeeded: hash ^ hash >> 32)
    }

    private static func mix(_ hash: UInt64, _ word: UInt64) -> UInt64 {
        let product = (hash ^ word).multipliedFullWidth(by: 0x9fb2_1c65_1e98_df25)
        return product.high ^ product.low
    }
}

extension UnsafeRawBufferPointer {
    var isASCII: Bool {
        var offset = 0
        var high: UInt64 = 0
        while offset + 8 <= count {
            high |= loadUnaligned(fromByteOffset: offset, as: UInt64.self)
            offset += 8
        }
        while offset < count {
            high |= UInt64(self[offset])
            offset += 1
        }
        return high & 0x8080_8080_8080_8080 == 0
    }

    /// Whether both hold the same bytes; a word at a time, since texts are short.
    func hasBytes(_ other: UnsafeRawBufferPointer) -> Bool {
        guard count == other.count else { return false }
        var offset = 0
        while offset + 8 <= count {
            let left = loadUnaligned(fromByteOffset: offset, as: UInt64.self)
            if left != other.loadUnaligned(fromByteOffset: offset, as: UInt64.self) { return false }
            offset += 8
        }
        while offset < count {
            if self[offset] != other[offset] { return false }
            offset += 1
        }
        return true
    }
}
