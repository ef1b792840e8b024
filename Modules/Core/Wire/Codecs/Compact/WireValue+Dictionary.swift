// Specialized code for the most common dictionaries. Walking a dictionary of types unknown to the compiler costs several
// times as much as coding its entries.

extension Dictionary where Key: WireValue, Value: WireValue {
    /// True if this is one of the specialized dictionary types.
    static var isSpecialized: Bool {
        Key.self == String.self
            && (Value.self == String.self || Value.self == Int.self || Value.self == Double.self
                || Value.self == Bool.self)
    }

    /// Writes the entries in their order in memory.
    func writeSpecialized(to writer: inout CompactWriter, as head: WireHead) {
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

    /// Reads the entries of the named record at the cursor.
    static func readSpecialized(from reader: inout CompactReader) throws(WireError) -> Self {
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
