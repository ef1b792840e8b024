// An open-addressing hash table with linear probing: a text that collides takes the next free slot. Slots carry the
// message's counter, so incrementing it for a new message empties the table. The hash mixes in one word at a time by
// a 64 × 64 → 128 bit multiplication and XORs the product's halves, as wyhash does.

/// The texts that a writer has numbered in a message, found by their bytes. Names have one table and strings another.
///
/// At most `CompactLimit.texts` texts, in at least twice as many slots of 16 bytes.
@usableFromInline
struct TextNumbering: ~Copyable {
    private struct Slot {
        var count: UInt32
        var offset: UInt32
        var hash: UInt32
        var index: UInt16
        /// Low bits of the counter of the message that has this text. The slot is empty in every other message.
        var message: UInt16

        static let empty = Slot(count: 0, offset: 0, hash: 0, index: 0, message: 0)
    }

    private var slots: UnsafeMutablePointer<Slot>?
    private var mask = 0
    private(set) var count = 0
    /// Counts messages, so that earlier texts need not be removed. Its low 16 bits are never 0.
    private(set) var message: UInt64 = 1

    init() {}

    @usableFromInline deinit { slots?.deallocate() }

    /// Returns the number of a text; nil if it has none. The caller then writes the text out and calls `define`.
    @inline(__always)
    func find(_ text: UnsafeRawBufferPointer, hash: UInt32, in base: UnsafeRawPointer) -> Int? {
        guard let slots else { return nil }
        var position = Int(hash) & mask
        while slots[position].message == stamp {
            if slots[position].hash == hash, Int(slots[position].count) == text.count,
                UnsafeRawBufferPointer(start: base + Int(slots[position].offset), count: text.count).hasBytes(text)
            {
                return Int(slots[position].index)
            }
            position = (position &+ 1) & mask
        }
        return nil
    }

    /// Numbers the text that is, or will be, at `offset`. Call it for every text that a reader numbers.
    @inline(__always)
    mutating func define(_ text: UnsafeRawBufferPointer, hash: UInt32, offset: Int) {
        guard count < CompactLimit.texts else { return }
        if (count &+ 1) &* 2 > mask { grow() }
        // An empty text also gets a number, but is written out each time.
        if text.count > 0 {
            insert(
                Slot(
                    count: UInt32(truncatingIfNeeded: text.count), offset: UInt32(truncatingIfNeeded: offset),
                    hash: hash, index: UInt16(truncatingIfNeeded: count), message: stamp))
        }
        count &+= 1
    }

    /// Discards all texts. Keeps the table for the next message, unless it has grown large.
    mutating func removeAll() {
        guard count > 0, let slots else { return }
        count = 0
        message &+= 1
        if stamp == 0 {
            slots.update(repeating: .empty, count: mask + 1)
            message &+= 1
        }
        if mask >= 512 {
            slots.deallocate()
            self.slots = nil
            mask = 0
        }
    }

    private var stamp: UInt16 {
        @inline(__always) get { UInt16(truncatingIfNeeded: message) }
    }

    /// Adds `distance` to the position of each text at or after `offset`, because the bytes there have moved.
    mutating func move(from offset: Int, by distance: Int) {
        guard let slots else { return }
        for position in 0...mask where slots[position].message == stamp && Int(slots[position].offset) >= offset {
            slots[position].offset += UInt32(truncatingIfNeeded: distance)
        }
    }

    @inline(__always)
    private mutating func insert(_ slot: Slot) {
        guard let slots else { return }
        var position = Int(slot.hash) & mask
        while slots[position].message == stamp { position = (position &+ 1) & mask }
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
        for position in 0..<oldCount where old[position].message == stamp { insert(old[position]) }
        old.deallocate()
    }
}

// MARK: - Hashing

extension TextNumbering {
    /// Returns a hash of a text that is the same in every process.
    @inline(__always)
    static func hash(_ text: UnsafeRawBufferPointer) -> UInt32 {
        guard let start = text.baseAddress else { return 0 }
        var hash = UInt64(truncatingIfNeeded: text.count) &* 0x9e37_79b9_7f4a_7c15
        var offset = 0
        while offset &+ 8 < text.count {
            hash = mix(hash, start.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
            offset &+= 8
        }
        // The last word overlaps the one before it. A text shorter than a word is read as two overlapping halves.
        if text.count >= 8 {
            hash = mix(hash, start.loadUnaligned(fromByteOffset: text.count &- 8, as: UInt64.self))
        } else if text.count >= 4 {
            let low = UInt64(start.loadUnaligned(as: UInt32.self))
            let high = UInt64(start.loadUnaligned(fromByteOffset: text.count &- 4, as: UInt32.self))
            hash = mix(hash, high &<< 32 | low)
        } else {
            for index in 0..<text.count { hash = hash &* 31 &+ UInt64(text[index]) }
            hash = mix(hash, 0)
        }
        return UInt32(truncatingIfNeeded: hash ^ hash >> 32)
    }

    @inline(__always)
    private static func mix(_ hash: UInt64, _ word: UInt64) -> UInt64 {
        let product = (hash ^ word).multipliedFullWidth(by: 0x9fb2_1c65_1e98_df25)
        return product.high ^ product.low
    }
}

// MARK: - Bytes

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

    /// True if both have the same bytes. Compares words in a loop, because texts are short.
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
