// The dictionaries that apps have most, with the compiler knowing what is in them: to walk one of unknown types costs
// several times what its entries cost.

extension Dictionary where Key: WireValue, Value: WireValue {
    /// Whether this is one of those dictionaries.
    static var hasKnownTexts: Bool {
        Key.self == String.self
            && (Value.self == String.self || Value.self == Int.self || Value.self == Double.self
                || Value.self == Bool.self)
    }

    /// In the order in which the entries lie in memory.
    func writeTexts(to writer: inout CompactWriter, as head: WireHead) {
        if Value.self == String.self {
            unsafeBitCast(self, to: [String: String].self).writeEntries(to: &writer, as: head)
        } else if Value.self == Int.self {
            unsafeBitCast(self, to: [String: Int].self).writeEntries(to: &writer, as: head)
        } else if Value.self == Double.self {
            unsafeBitCast(self, to: [String: Double].self).writeEntries(to: &writer, as: head)
        } else {
            unsafeBitCast(self, to: [String: Bool].self).writeEntries(to: &writer, as: head)
        }
    }

    /// The cursor is at the content of a named record.
    static func readTexts(from reader: inout CompactReader) throws(WireError) -> Self {
        if Value.self == String.self {
            return unsafeBitCast(try [String: String].readEntries(from: &reader), to: Self.self)
        }
        if Value.self == Int.self {
            return unsafeBitCast(try [String: Int].readEntries(from: &reader), to: Self.self)
        }
        if Value.self == Double.self {
            return unsafeBitCast(try [String: Double].readEntries(from: &reader), to: Self.self)
        }
        return unsafeBitCast(try [String: Bool].readEntries(from: &reader), to: Self.self)
    }
}

extension Dictionary where Key == String, Value: WireValue {
    @inline(__always)
    fileprivate func writeEntries(to writer: inout CompactWriter, as head: WireHead) {
        writer.openRecord(.namedRecord, as: head)
        for (name, value) in self {
            let field = writer.writeName(name)
            value.write(to: &writer, as: field)
        }
        writer.closeRecord()
    }

    @inline(__always)
    fileprivate static func readEntries(from reader: inout CompactReader) throws(WireError) -> [String: Value] {
        try reader.descend()
        var result = [String: Value](minimumCapacity: reader.countScalarFields())
        while let field = try reader.readNamedHead() {
            let name = try String(wire: field.name)
            result[name] = try Value(wire: field.kind, from: &reader)
        }
        reader.ascend()
        return result
    }
}
