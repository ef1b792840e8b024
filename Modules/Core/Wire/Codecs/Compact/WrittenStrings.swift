/// The strings that a message has written so far, for a writer: an open hash table over the bytes written, and before it
/// a table of the enum cases that were written as strings.
///
/// At most `CompactLimit.texts` strings, in a table of twice as many slots of 16 bytes.
@usableFromInline
struct WrittenStrings: ~Copyable {
    private struct Slot {
        var count: UInt32
        var offset: UInt32
        var hash: UInt32
        var index: UInt16
        /// The message of which this is a text, in its lower bits; in any other the slot is empty.
        var message: UInt16

        static let empty = Slot(count: 0, offset: 0, hash: 0, index: 0, message: 0)
    }

    private var slots: UnsafeMutablePointer<Slot>?
    private var mask = 0
    private(set) var count = 0
    /// The number of the string that was written last; -1 when it has none.
    private var last = -1
    private var cases: UnsafeMutablePointer<Case>?
    /// Counts messages, so that texts and cases of earlier ones need not be removed. Its lower bits are never 0.
    private var message: UInt64 = 1

    init() {}

    @usableFromInline deinit {
        slots?.deallocate()
        cases?.deallocate()
    }

    /// The number of a text if it has been defined, else nil; the caller then writes it out and calls `define`.
    @inline(__always)
    mutating func find(_ text: UnsafeRawBufferPointer, hash: UInt32, in base: UnsafeRawPointer) -> Int? {
        last = -1
        guard let slots else { return nil }
        var position = Int(hash) & mask
        while slots[position].message == stamp {
            if slots[position].hash == hash, Int(slots[position].count) == text.count,
                UnsafeRawBufferPointer(start: base + Int(slots[position].offset), count: text.count).hasBytes(text)
            {
                last = Int(slots[position].index)
                return last
            }
            position = (position &+ 1) & mask
        }
        return nil
    }

    /// Numbers a text that now lies at `offset`. Every text that a reader numbers must be defined here too.
    @inline(__always)
    mutating func define(_ text: UnsafeRawBufferPointer, hash: UInt32, offset: Int) {
        guard count < CompactLimit.texts else { return }
        if (count &+ 1) &* 2 > mask { grow() }
        insert(
            Slot(
                count: UInt32(truncatingIfNeeded: text.count), offset: UInt32(truncatingIfNeeded: offset),
                hash: hash, index: UInt16(truncatingIfNeeded: count), message: stamp))
        last = count
        count &+= 1
    }

    /// The string that was written last has no number.
    mutating func forgetLast() { last = -1 }

    /// Forgets all texts and keeps the table for the next message, unless it has grown large.
    mutating func removeAll() {
        guard count > 0, let slots else { return }
        count = 0
        last = -1
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

    /// Follows bytes that have moved: every text at or after `offset` now lies `distance` further on.
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

extension WrittenStrings {
    /// The same for the same text in every process, so that equal messages are equal bytes.
    @inline(__always)
    static func hash(_ text: UnsafeRawBufferPointer) -> UInt32 {
        guard let start = text.baseAddress else { return 0 }
        var hash = UInt64(truncatingIfNeeded: text.count) &* 0x9e37_79b9_7f4a_7c15
        var offset = 0
        while offset &+ 8 < text.count {
            hash = mix(hash, start.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
            offset &+= 8
        }
        // The last word overlaps the one before it; a text of less than a word is read in two halves.
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

// MARK: - Cases

extension WrittenStrings {
    /// Which string a case of an enum was written as.
    private struct Case {
        var message: UInt64 = 0
        var owner: ObjectIdentifier
        var index: UInt32 = 0
        var byte: UInt8 = 0
    }

    private static var caseCount: Int { 32 }

    /// The number of the string that a case of that enum was written as; nil also when another case has taken its place.
    @inline(__always)
    func index(ofCase byte: UInt8, _ owner: ObjectIdentifier) -> Int? {
        guard let cases else { return nil }
        let place = cases + Self.place(byte, owner)
        guard place.pointee.message == message, place.pointee.owner == owner, place.pointee.byte == byte else {
            return nil
        }
        return Int(place.pointee.index)
    }

    /// The string that was written last was that case.
    mutating func noteCase(_ byte: UInt8, _ owner: ObjectIdentifier) {
        guard last >= 0 else { return }
        if cases == nil {
            cases = .allocate(capacity: Self.caseCount)
            cases?.initialize(repeating: Case(owner: owner), count: Self.caseCount)
        }
        cases?[Self.place(byte, owner)] = Case(
            message: message, owner: owner, index: UInt32(truncatingIfNeeded: last), byte: byte)
    }

    @inline(__always)
    private static func place(_ byte: UInt8, _ owner: ObjectIdentifier) -> Int {
        Int(truncatingIfNeeded: (UInt(bitPattern: owner) >> 4 &+ UInt(byte)) % UInt(caseCount))
    }
}

extension CompactWriter {
    /// Writes a case that this message holds already as a string.
    /// - Returns: false when it does not, and nothing was written.
    @usableFromInline
    mutating func writeRepeatedCase(_ byte: UInt8, of owner: ObjectIdentifier, as head: WireHead) -> Bool {
        guard let index = strings.index(ofCase: byte, owner) else { return false }
        bytes.reserve(Self.headBytesMax + 10)
        writeHead(head, .repeatedString)
        bytes.appendVarint(UInt64(truncatingIfNeeded: index))
        return true
    }

    @usableFromInline
    mutating func noteCase(_ byte: UInt8, of owner: ObjectIdentifier) { strings.noteCase(byte, owner) }
}
