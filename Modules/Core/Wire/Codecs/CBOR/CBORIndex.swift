/// A message whose values have been found: where each begins, and which comes next.
///
/// Made in one pass that checks everything which can be wrong with the bytes alone, so that reading, in whatever order a
/// type reads, only goes from entry to entry. A list's entry is followed by those of its elements; a map's by one that
/// remembers where a reader was, then by its keys and values in turn. Tags belong to the value that they are of.
///
/// Valid only while the bytes are.
struct CBORIndex: ~Copyable {
    struct Entry {
        /// Of the value's first byte; in the entry behind a map's, the key at which the last search ended.
        var offset: UInt32
        /// The entry behind this value and everything in it.
        var next: UInt32
    }

    static let root: UInt32 = 0
    /// Tags on one value; more are refused.
    static let tagsMax = 16

    let bytes: UnsafeRawBufferPointer
    fileprivate(set) var entries: UnsafeMutablePointer<Entry>
    private var count = 0
    private var capacity: Int
    private var cursor: WireReader
    private let depthMax: Int

    /// Finds the values of a message.
    /// - Throws: `truncated`, `corrupted`, `tooDeep`, `trailingBytes`, `oversized` from 4 GiB.
    /// - Complexity: linear; n log n for a map whose keys are not in their deterministic order.
    static func make(_ bytes: UnsafeRawBufferPointer, depthMax: Int) throws(WireError) -> CBORIndex {
        guard bytes.count < Int(UInt32.max) else { throw WireError(.oversized, "a message of 4 GiB or more") }
        var index = CBORIndex(bytes, depthMax: depthMax)
        try index.add(depth: 0)
        let rest = index.cursor.remaining
        if rest > 0 { throw WireError(.trailingBytes, "\(rest) bytes follow the value") }
        return index
    }

    private init(_ bytes: UnsafeRawBufferPointer, depthMax: Int) {
        self.bytes = bytes
        self.depthMax = depthMax
        cursor = WireReader(bytes)
        capacity = 16 + bytes.count / 8
        entries = .allocate(capacity: capacity)
    }

    deinit { entries.deallocate() }
}

// MARK: - Making

extension CBORIndex {
    private mutating func push(_ offset: Int) -> Int {
        if _slowPath(count == capacity) {
            let larger = UnsafeMutablePointer<Entry>.allocate(capacity: 2 * capacity)
            larger.moveInitialize(from: entries, count: count)
            entries.deallocate()
            entries = larger
            capacity *= 2
        }
        (entries + count).initialize(to: Entry(offset: UInt32(truncatingIfNeeded: offset), next: 0))
        count += 1
        return count - 1
    }

    /// Enters the value at the cursor and what is in it.
    private mutating func add(depth: Int) throws(WireError) {
        let entry = push(bytes.count - cursor.remaining)
        var head = try cursor.readHead()
        var tags = 0
        while head.major == .tag {
            tags += 1
            if tags > Self.tagsMax { throw WireError(.tooDeep, "a value has more than \(Self.tagsMax) tags") }
            head = try cursor.readHead()
        }
        switch head.major {
        case .unsigned, .negative, .tag: break
        case .bytes, .text: try addString(head)
        case .list: try addElements(head, depth: depth + 1)
        case .map:
            let memory = push(0)
            try addPairs(head, depth: depth + 1)
            entries[memory].offset = UInt32(truncatingIfNeeded: memory + 1)
            try checkKeys(from: memory + 1, to: count)
        case .simple:
            if head.isIndefinite { throw WireError(.corrupted, "a break where a value is expected") }
        }
        entries[entry].next = UInt32(truncatingIfNeeded: count)
    }

    private mutating func addString(_ head: CBORHead) throws(WireError) {
        guard head.isIndefinite else { return try checkText(try cursor.readContent(of: head), head) }
        while true {
            let chunk = try cursor.readHead()
            if chunk.major == .simple, chunk.isIndefinite { return }
            guard chunk.major == head.major, !chunk.isIndefinite else {
                throw WireError(.corrupted, "a string has a part that is not a definite string of its kind")
            }
            try checkText(try cursor.readContent(of: chunk), chunk)
        }
    }

    private func checkText(_ content: UnsafeRawBufferPointer, _ head: CBORHead) throws(WireError) {
        guard head.major == .text, !content.isUTF8 else { return }
        throw WireError(.corrupted, "a string is not valid UTF-8")
    }

    private mutating func addElements(_ head: CBORHead, depth: Int) throws(WireError) {
        try check(depth)
        if head.isIndefinite {
            while try !takeBreak() { try add(depth: depth) }
        } else {
            for _ in 0..<(try countOf(head, bytesEach: 1)) { try add(depth: depth) }
        }
    }

    private mutating func addPairs(_ head: CBORHead, depth: Int) throws(WireError) {
        try check(depth)
        if head.isIndefinite {
            while try !takeBreak() {
                try add(depth: depth)
                try add(depth: depth)
            }
        } else {
            for _ in 0..<(try countOf(head, bytesEach: 2)) {
                try add(depth: depth)
                try add(depth: depth)
            }
        }
    }

    private func check(_ depth: Int) throws(WireError) {
        if depth > depthMax { throw WireError(.tooDeep, "values are nested more than \(depthMax) levels deep") }
    }

    private func countOf(_ head: CBORHead, bytesEach: Int) throws(WireError) -> Int {
        guard head.argument <= UInt64(cursor.remaining / bytesEach) else {
            throw .truncated(needed: Int(clamping: head.argument), remaining: cursor.remaining)
        }
        return Int(truncatingIfNeeded: head.argument)
    }

    private mutating func takeBreak() throws(WireError) -> Bool {
        var ahead = cursor
        guard try ahead.readUInt8() == 0xff else { return false }
        cursor = ahead
        return true
    }
}

// MARK: - Keys

extension CBORIndex {
    /// No two keys of a map may be equal. In the deterministic order that shows between neighbours.
    private func checkKeys(from first: Int, to end: Int) throws(WireError) {
        var keys: [UInt32] = []
        var isSorted = true
        var last: UInt32?
        var key = UInt32(truncatingIfNeeded: first)
        while key < end {
            if let last {
                let order = order(last, key)
                if order == 0 { throw .duplicateKey }
                if order > 0 { isSorted = false }
            }
            last = key
            key = entries[Int(entries[Int(key)].next)].next
        }
        if _fastPath(isSorted) { return }
        key = UInt32(truncatingIfNeeded: first)
        while key < end {
            keys.append(key)
            key = entries[Int(entries[Int(key)].next)].next
        }
        sort(&keys)
        for (left, right) in zip(keys, keys.dropFirst()) where order(left, right) == 0 { throw .duplicateKey }
    }

    private func sort(_ keys: inout [UInt32]) {
        // A noncopyable value cannot be captured; what the comparison needs of it can.
        let (bytes, entries) = (bytes, entries)
        keys.sort { Self.order($0, $1, bytes, entries) < 0 }
    }

    private func order(_ left: UInt32, _ right: UInt32) -> Int { Self.order(left, right, bytes, entries) }

    /// That of the deterministic encodings, also for integers and strings which are not so encoded; 0 for equal keys.
    private static func order(
        _ left: UInt32, _ right: UInt32, _ bytes: UnsafeRawBufferPointer, _ entries: UnsafeMutablePointer<Entry>
    ) -> Int {
        let (leftBytes, rightBytes) = (encoding(left, bytes, entries), encoding(right, bytes, entries))
        var (leftRest, rightRest) = (WireReader(leftBytes), WireReader(rightBytes))
        guard let leftHead = try? leftRest.readHead(), let rightHead = try? rightRest.readHead() else { return 0 }
        if leftHead.major != rightHead.major { return leftHead.major.rawValue < rightHead.major.rawValue ? -1 : 1 }
        switch leftHead.major {
        case .unsigned, .negative:
            return leftHead.argument < rightHead.argument ? -1 : leftHead.argument > rightHead.argument ? 1 : 0
        case .bytes, .text:
            guard !leftHead.isIndefinite, !rightHead.isIndefinite else {
                let (leftWhole, rightWhole) = (leftRest.joined(leftHead), rightRest.joined(rightHead))
                if leftWhole.count != rightWhole.count { return leftWhole.count < rightWhole.count ? -1 : 1 }
                return leftWhole.withUnsafeBytes { left in rightWhole.withUnsafeBytes { left.order(to: $0) } }
            }
            if leftHead.argument != rightHead.argument { return leftHead.argument < rightHead.argument ? -1 : 1 }
            return leftRest.rest.order(to: rightRest.rest)
        default: return leftBytes.order(to: rightBytes)
        }
    }

    /// The bytes of a key: its value begins where they end.
    private static func encoding(
        _ key: UInt32, _ bytes: UnsafeRawBufferPointer, _ entries: UnsafeMutablePointer<Entry>
    ) -> UnsafeRawBufferPointer {
        let entry = entries[Int(key)]
        return UnsafeRawBufferPointer(rebasing: bytes[Int(entry.offset)..<Int(entries[Int(entry.next)].offset)])
    }
}

extension WireError {
    fileprivate static var duplicateKey: WireError { WireError(.corrupted, "a map has a key twice") }
}

extension WireReader {
    /// What is left to read.
    @inline(__always)
    var rest: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: cursor, count: remaining) }

    /// The content of a string behind its head, its parts put together.
    func joined(_ head: CBORHead) -> [UInt8] {
        var reader = self
        guard head.isIndefinite else { return (try? [UInt8](reader.readContent(of: head))) ?? [] }
        var whole: [UInt8] = []
        while let chunk = try? reader.readHead(), chunk.major == head.major,
            let content = try? reader.readContent(of: chunk)
        {
            whole += content
        }
        return whole
    }
}
