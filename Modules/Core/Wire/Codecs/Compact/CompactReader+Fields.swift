// Finding fields in records. Numbered fields are in ascending order, so a reader that asks in that order never goes back.
// Named fields can be in any order, but are usually in the order in which the reader asks.

extension CompactReader {
    /// Moves past the head of a numbered field if that field comes next.
    @inlinable @inline(__always)
    mutating func take(_ field: UInt32, _ kind: WireKind) -> Bool {
        field < 16 ? takeShort(field, kind) : takeLong(field, kind)
    }

    /// Matches a head of one byte, plus one byte for a kind above 6.
    @inlinable @inline(__always)
    mutating func takeShort(_ field: UInt32, _ kind: WireKind) -> Bool {
        guard bytes.remaining > 1 else { return false }
        let next = UInt32(bytes.cursor.load(as: UInt8.self)) | nameMask
        if kind.rawValue < 7 {
            guard _fastPath(next == field << 3 | UInt32(kind.rawValue)) else { return false }
            bytes.cursor += 1
        } else {
            guard _fastPath(next == field << 3 | 7),
                bytes.cursor.load(fromByteOffset: 1, as: UInt8.self) == kind.rawValue
            else { return false }
            bytes.cursor += 2
        }
        lastField = field
        return true
    }

    /// Matches a head of two bytes, plus one byte for a kind above 6.
    @inlinable
    mutating func takeLong(_ field: UInt32, _ kind: WireKind) -> Bool {
        guard bytes.remaining > 2, field < 2048 else { return false }
        let low = UInt32(min(kind.rawValue, 7))
        let next = UInt32(UInt16(littleEndian: bytes.cursor.loadUnaligned(as: UInt16.self))) | nameMask << 8
        guard next == ((field << 3) & 0x78 | low | 0x80) | (field >> 4) << 8 else { return false }
        if low == 7 {
            guard bytes.cursor.load(fromByteOffset: 2, as: UInt8.self) == kind.rawValue else { return false }
            bytes.cursor += 1
        }
        bytes.cursor += 2
        lastField = field
        return true
    }

    /// True if the next head shows that the record lacks the field: the record ends, or a later field comes. False if
    /// only a search can tell.
    @inlinable @inline(__always)
    func lacks(_ field: UInt32) -> Bool {
        guard nameMask == 0, field > lastField, bytes.remaining > 0 else { return false }
        let head = bytes.cursor.load(as: UInt8.self)
        return head == CompactMark.end || (head < 0x80 && UInt32(head >> 3) > field)
    }

    /// Moves to the content of a field, wherever it is in the record.
    /// - Returns: The field's kind; nil if the record has no such field.
    @inlinable
    mutating func find(_ key: some CodingKey & RawRepresentable<Int>) throws(WireError) -> WireKind? {
        if nameMask == 0 { return try find(field: key.rawValue) }
        return try find(name: key.stringValue)
    }

    @usableFromInline
    mutating func find(field wanted: Int) throws(WireError) -> WireKind? {
        guard let wanted = UInt32(exactly: wanted), wanted > 0 else { return nil }
        if wanted <= lastField { bytes.cursor = recordStart }
        lastField = wanted
        while true {
            let start = bytes.cursor
            let head = try bytes.readVarint()
            let field = head >> 3
            if field == UInt64(wanted) { return try readKind(low: head & 7) }
            if head == UInt64(CompactMark.end) || field > UInt64(wanted) {
                bytes.cursor = start
                return nil
            }
            if field == 0 { throw .unknownMark(head) }
            try skip(try readKind(low: head & 7))
        }
    }

    @usableFromInline
    mutating func find(name wanted: String) throws(WireError) -> WireKind? {
        var wanted = wanted
        let origin = bytes.cursor
        if let kind = try scan(for: &wanted, until: nil) { return kind == .absent ? nil : kind }
        bytes.cursor = recordStart
        if let kind = try scan(for: &wanted, until: origin) { return kind == .absent ? nil : kind }
        bytes.cursor = origin
        return nil
    }

    /// Searches from the cursor to the end of the record, or to `limit`.
    private mutating func scan(
        for wanted: inout String, until limit: UnsafeRawPointer?
    ) throws(WireError) -> WireKind? {
        while limit.map({ bytes.cursor < $0 }) ?? true {
            let start = bytes.cursor
            guard let field = try readNamedHead() else {
                bytes.cursor = start
                return nil
            }
            if wanted.equals(field.name) { return field.kind }
            try skip(field.kind)
        }
        return nil
    }

    /// Moves past the next field's head if it has that name.
    /// - Parameter name: UTF-8, of at most 127 bytes.
    /// - Returns: nil, without moving, if the field has another name or only a search can tell.
    mutating func takeNamed(_ name: UnsafeRawBufferPointer) throws(WireError) -> (number: UInt64, kind: WireKind)? {
        let start = bytes.cursor
        if bytes.remaining > name.count + 2, start.load(as: UInt8.self) == CompactMark.nameDefinition {
            let text = UnsafeRawBufferPointer(start: start + 2, count: name.count)
            guard Int(start.load(fromByteOffset: 1, as: UInt8.self)) == name.count, text.hasBytes(name) else {
                return nil
            }
            names.define(offset: start + 2 - base, count: name.count)
            bytes.cursor = start + 2 + name.count
        }
        let head = try bytes.readVarint()
        if let entry = names[Int(clamping: head >> 3) - 1],
            UnsafeRawBufferPointer(start: base + Int(entry.offset), count: Int(entry.count)).hasBytes(name)
        {
            return (head >> 3, try readKind(low: head & 7))
        }
        bytes.cursor = start
        return nil
    }

    /// Moves past the next field's head. Returns nil after the end of the record.
    mutating func readNamedHead() throws(WireError) -> NamedHead? {
        while true {
            let head = try bytes.readVarint()
            if _fastPath(head > 7) {
                return NamedHead(name: try name(head >> 3), number: head >> 3, kind: try readKind(low: head & 7))
            }
            switch UInt8(truncatingIfNeeded: head) {
            case CompactMark.end: return nil
            case CompactMark.nameDefinition:
                let text = try readNameDefinition()
                // The field itself usually has the name that was just defined.
                let start = bytes.cursor
                let head = try bytes.readVarint()
                if _fastPath(head >> 3 == names.count && names.isLast(at: text.baseAddress.map { $0 - base } ?? -1)) {
                    return NamedHead(name: text, number: head >> 3, kind: try readKind(low: head & 7))
                }
                bytes.cursor = start
            case CompactMark.name: return NamedHead(name: try readName(), number: 0, kind: try readKind())
            default: throw .unknownMark(head)
            }
        }
    }

    /// Returns the number of scalar fields that follow in a named record, so that a dictionary can reserve its capacity.
    /// Stops at 64 and at the first field that isn't one scalar. Doesn't move; malformed fields fail when they are read.
    func countScalarFields() -> Int {
        var ahead = bytes
        var count = 0
        while count < 64, let head = try? ahead.readVarint(), head != UInt64(CompactMark.end) {
            var kind = UInt8(truncatingIfNeeded: head & 7)
            if head <= 7 {
                guard let length = try? ahead.readLength(), (try? ahead.take(length)) != nil else { break }
                if head == UInt64(CompactMark.nameDefinition) { continue }
                kind = 7
            }
            if kind == 7 {
                guard let extended = try? ahead.readUInt8() else { break }
                kind = extended
            }
            guard (try? ahead.skipScalar(WireKind(rawValue: kind))) == true else { break }
            count += 1
        }
        return count
    }

    /// Enters a record. Pass the result to `leaveRecord`.
    @inlinable @inline(__always)
    mutating func enterRecord(_ kind: WireKind) throws(WireError) -> OuterRecord {
        let outer = OuterRecord(start: recordStart, lastField: lastField, nameMask: nameMask)
        try descend()
        guard beginFields(kind) else { throw .mismatch(kind, wanted: "a record") }
        return outer
    }

    /// Skips the fields that haven't been read.
    @inlinable @inline(__always)
    mutating func leaveRecord(_ outer: OuterRecord) throws(WireError) {
        try endFields()
        restore(outer)
    }

    @inlinable @inline(__always)
    mutating func restore(_ outer: OuterRecord) {
        ascend()
        recordStart = outer.start
        lastField = outer.lastField
        nameMask = outer.nameMask
    }

    /// - Returns: false if the value isn't a record.
    @inlinable @inline(__always)
    mutating func beginFields(_ kind: WireKind) -> Bool {
        guard kind == .record || kind == .namedRecord else { return false }
        recordStart = bytes.cursor
        lastField = 0
        nameMask = kind == .record ? 0 : 0x100
        return true
    }

    @inlinable @inline(__always)
    mutating func endFields() throws(WireError) {
        if _fastPath(bytes.remaining > 0 && bytes.cursor.load(as: UInt8.self) == CompactMark.end) {
            bytes.cursor += 1
        } else {
            try skipFields(named: nameMask != 0)
        }
    }

    /// Lends this reader to a conformance as a field reader with its keys.
    @inlinable @inline(__always)
    mutating func withFields<Keys, Value>(
        _ keys: Keys.Type, _ body: (inout WireFieldReader<Keys>) throws(WireError) -> Value
    ) throws(WireError) -> Value {
        // A field reader has this reader as its only stored property, so both have the same layout.
        try withUnsafeMutablePointer(to: &self) { reader throws(WireError) in
            try body(&UnsafeMutableRawPointer(reader).assumingMemoryBound(to: WireFieldReader<Keys>.self).pointee)
        }
    }
}

extension WireReader {
    /// - Returns: false if the kind isn't one scalar.
    fileprivate mutating func skipScalar(_ kind: WireKind) throws(WireError) -> Bool {
        switch kind {
        case .int, .uint, .repeatedString: _ = try readVarint()
        case .double: _ = try take(8)
        case .float: _ = try take(4)
        case .uuid: _ = try take(16)
        case .string, .bytes: _ = try take(try readLength())
        case .true, .false, .nil: break
        default: return false
        }
        return true
    }
}

/// Position of a reader in the enclosing record.
@usableFromInline
struct OuterRecord {
    @usableFromInline let start: UnsafeRawPointer
    @usableFromInline let lastField: UInt32
    @usableFromInline let nameMask: UInt32

    @inlinable
    init(start: UnsafeRawPointer, lastField: UInt32, nameMask: UInt32) {
        self.start = start
        self.lastField = lastField
        self.nameMask = nameMask
    }
}

/// The head of a field in a record with names.
struct NamedHead {
    let name: UnsafeRawBufferPointer
    /// Number of the name; 0 if it has none.
    let number: UInt64
    let kind: WireKind
}

extension String {
    /// True if the bytes are the UTF-8 of this string.
    mutating func equals(_ bytes: UnsafeRawBufferPointer) -> Bool {
        withUTF8 { UnsafeRawBufferPointer($0).hasBytes(bytes) }
    }
}
