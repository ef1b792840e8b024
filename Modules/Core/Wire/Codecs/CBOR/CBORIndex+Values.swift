/// A value's head, the last tag before it, and the bytes that follow.
struct CBORValue {
    let tag: UInt64?
    let head: CBORHead
    var rest: WireReader

    /// The content of a string, lent to the closure.
    @inline(__always)
    func withContent<Result>(
        _ body: (UnsafeRawBufferPointer) throws(WireError) -> Result
    ) throws(WireError) -> Result {
        if _fastPath(!head.isIndefinite) {
            var reader = rest
            return try body(try reader.readContent(of: head))
        }
        // Typed errors do not pass through `withUnsafeBytes` of an array on all platforms.
        let whole = rest.joined(head)
        let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: whole.count, alignment: 1)
        defer { copy.deallocate() }
        copy.copyBytes(from: whole)
        return try body(UnsafeRawBufferPointer(copy))
    }

    func mismatch(_ wanted: Any.Type) -> WireError {
        WireError(.typeMismatch, "\(name) where \(wanted) is asked for")
    }

    var name: String {
        switch head.major {
        case .unsigned, .negative: "an integer"
        case .bytes: "a byte string"
        case .text: "a text"
        case .list: "an array"
        case .map: "a map"
        case .tag: "a tag"
        case .simple:
            switch head.info {
            case CBORHead.Simple.no, CBORHead.Simple.yes: "a boolean"
            case CBORHead.Simple.null, CBORHead.Simple.undefined: "null"
            case CBORHead.Simple.half, CBORHead.Simple.single, CBORHead.Simple.double: "a floating-point number"
            default: "the simple value \(head.argument)"
            }
        }
    }
}

extension CBORIndex {
    /// The value of an entry.
    @inline(__always)
    func value(at entry: UInt32) throws(WireError) -> CBORValue {
        var reader = WireReader(UnsafeRawBufferPointer(rebasing: bytes[Int(entries[Int(entry)].offset)...]))
        var head = try reader.readHead()
        var tag: UInt64?
        while _slowPath(head.major == .tag) {
            tag = head.argument
            head = try reader.readHead()
        }
        return CBORValue(tag: tag, head: head, rest: reader)
    }

    @inline(__always)
    func entry(behind entry: UInt32) -> UInt32 { entries[Int(entry)].next }

    /// Elements of the list, between its entry and the next.
    func count(of list: UInt32, _ head: CBORHead) -> Int {
        guard head.isIndefinite else { return Int(truncatingIfNeeded: head.argument) }
        var count = 0
        var element = list + 1
        while element < entry(behind: list) {
            count += 1
            element = entry(behind: element)
        }
        return count
    }

    /// The value of a key in the map, looked for from where the last search ended; nil when there is none.
    @inline(__always)
    func find(_ key: some CodingKey, in map: UInt32) -> UInt32? {
        var name = key.stringValue
        let found = name.withUTF8 { name in
            search(map) { matches($0, UnsafeRawBufferPointer(name)) }
        }
        if let found { return found }
        guard let number = key.intValue else { return nil }
        let isNegative = number < 0
        let argument = UInt64(isNegative ? ~number : number)
        return search(map) { key in
            guard let value = try? value(at: key), value.tag == nil, value.head.argument == argument else {
                return false
            }
            return value.head.major == (isNegative ? .negative : .unsigned)
        }
    }

    @inline(__always)
    private func search(_ map: UInt32, _ matches: (UInt32) -> Bool) -> UInt32? {
        let first = map + 2
        let end = entry(behind: map)
        let origin = entries[Int(map) + 1].offset
        var key = origin
        while key < end {
            let value = entry(behind: key)
            if matches(key) {
                entries[Int(map) + 1].offset = key
                return value
            }
            key = entry(behind: value)
        }
        key = first
        while key < origin {
            let value = entry(behind: key)
            if matches(key) {
                entries[Int(map) + 1].offset = key
                return value
            }
            key = entry(behind: value)
        }
        return nil
    }

    @inline(__always)
    private func matches(_ key: UInt32, _ name: UnsafeRawBufferPointer) -> Bool {
        let offset = Int(entries[Int(key)].offset)
        let first = bytes[offset]
        // A text shorter than 24 bytes; its content is there, as the index has been made.
        if _fastPath(first >> 5 == CBORHead.Major.text.rawValue && first & 0x1f < 24) {
            let length = Int(first & 0x1f)
            guard length == name.count else { return false }
            return UnsafeRawBufferPointer(rebasing: bytes[(offset + 1)..<(offset + 1 + length)]).order(to: name) == 0
        }
        guard let value = try? value(at: key), value.tag == nil, value.head.major == .text else { return false }
        return (try? value.withContent { content in content.equals(name) }) ?? false
    }
}
