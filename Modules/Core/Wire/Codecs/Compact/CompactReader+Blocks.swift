// A type can't always read a block directly. One of its versions may have changed the width of the numbers, or the type
// may decode one by one the elements that another type wrote as an array. The reader then first expands the block into
// a list.

extension CompactReader {
    /// Reads a block and returns the list of the same values.
    @usableFromInline
    mutating func expandBlock(_ kind: WireKind) throws(WireError) -> ExpandedBlock {
        let width = kind.blockWidth ?? 1
        guard kind == .bytes || kind == .ints || kind == .uints || kind.blockWidth != nil else {
            throw .mismatch(kind, wanted: "a list")
        }
        let count = try readCount(width: width)
        var writer = CompactWriter(bytes: WireWriter(capacity: 16 + count * (width + 2)))
        writer.bytes.writeVarint(UInt64(count))
        for _ in 0..<count { try copyElement(kind, to: &writer) }
        return ExpandedBlock(list: writer.bytes.array())
    }

    private mutating func copyElement(_ kind: WireKind, to writer: inout CompactWriter) throws(WireError) {
        switch kind {
        case .doubles: writer.write(try bytes.readDouble(), as: .element)
        case .floats: writer.write(Float(bitPattern: try bytes.readUInt32()), as: .element)
        case .uuids: writer.write(try bytes.readUUID(), as: .element)
        case .ints: writer.write(try bytes.readSignedVarint(), as: .element)
        case .uints: writer.write(try bytes.readVarint(), as: .element)
        case .bytes: writer.write(Int64(try bytes.readUInt8()), as: .element)
        case .int8s: writer.write(Int64(Int8(bitPattern: try bytes.readUInt8())), as: .element)
        case .int16s: writer.write(Int64(Int16(bitPattern: try bytes.readUInt16())), as: .element)
        case .uint16s: writer.write(Int64(try bytes.readUInt16()), as: .element)
        case .int32s: writer.write(Int64(Int32(bitPattern: try bytes.readUInt32())), as: .element)
        default: writer.write(Int64(try bytes.readUInt32()), as: .element)
        }
    }
}

/// A block that was expanded into a list: the count, then the elements with their kinds.
@usableFromInline
struct ExpandedBlock {
    let list: [UInt8]

    /// Reads the list with a separate reader.
    @usableFromInline
    func read(
        _ outer: borrowing CompactReader, _ body: (inout CompactReader) throws(WireError) -> Void
    ) throws(WireError) {
        // `withUnsafeBytes` would erase the type of an error that its closure throws.
        var failure: WireError?
        list.withUnsafeBytes { bytes in
            do throws(WireError) {
                var reader = try CompactReader(bytes, depthMax: outer.depthMax)
                reader.depth = outer.depth
                try body(&reader)
            } catch {
                failure = error
            }
        }
        if let failure { throw failure }
    }
}
