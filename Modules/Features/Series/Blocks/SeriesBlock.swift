package import MeshWire

// Terms of series: a *sample* is one row of numbers with a time, a *column* holds one number of each sample, and a *block* is
// up to 1,024 consecutive samples, compressed by column. A complete block begins at a multiple of 1,024.

/// The encoding of up to 1,024 samples of a series.
///
///     block    = count, unit, times, flags, [presences], column …
///     count    = varint: 1 to 1024
///     unit     = byte: unit of times: 0 microseconds, 1 milliseconds, 2 seconds
///     flags    = byte: bit 0: some numbers are absent, and presences follow, as a column of whole numbers
///     column   = form, numbers
///     form     = byte: the low half is an `IntegerColumn.Order`, the high half 0 whole numbers; 1 decimals, with their
///                exponent of ten as another byte; 2 floats and 3 doubles, both as differing bits (`FloatColumn`)
///
/// The block doesn't contain the columns' names and kinds. Complexity: O(numbers).
package enum SeriesBlock {
    private enum Form: UInt8 { case whole, decimals, singles, doubles }

    private static let units: [Int64] = [1, 1000, 1_000_000]

    // MARK: - Writing

    /// - Parameter table: 1 to 1,024 samples.
    package static func bytes(of table: SampleTable) -> [UInt8] {
        var writer = WireWriter(capacity: 64 + table.count * (table.columns.count + 1))
        writer.writeVarint(UInt64(table.count))
        let unit = units.lastIndex { unit in table.times.allSatisfy { $0 % unit == 0 } } ?? 0
        writer.write(UInt8(unit))
        write(whole: table.times.map { $0 / units[unit] }, into: &writer)
        let isWhole = table.presences.allSatisfy { $0 == table.wholePresence }
        writer.write(isWhole ? 0 : 1 as UInt8)
        if !isWhole { write(whole: table.presences.map { Int64(bitPattern: $0) }, into: &writer) }
        for (column, cells) in zip(table.columns, table.cells) {
            switch column.kind {
            case .integer, .unsigned, .bool: write(whole: cells.map { Int64(bitPattern: $0) }, into: &writer)
            case .float, .date: write(floats: cells, into: &writer)
            }
        }
        return writer.array()
    }

    private static func write(
        whole values: [Int64], _ form: Form = .whole, exponent: Int? = nil, into writer: inout WireWriter
    ) {
        let order = IntegerColumn.order(for: values)
        writer.write(form.rawValue << 4 | order.rawValue)
        if let exponent { writer.write(UInt8(exponent)) }
        IntegerColumn.write(values, order, into: &writer)
    }

    private static func write(floats bits: [UInt64], into writer: inout WireWriter) {
        if let decimals = FloatColumn.decimals(bits) {
            write(whole: decimals.values, .decimals, exponent: decimals.exponent, into: &writer)
        } else if FloatColumn.areSingle(bits) {
            writer.write(Form.singles.rawValue << 4)
            FloatColumn.write(bits.map(FloatColumn.single), into: &writer)
        } else {
            writer.write(Form.doubles.rawValue << 4)
            FloatColumn.write(bits, into: &writer)
        }
    }

    // MARK: - Reading

    /// - Throws: `WireError` for a malformed block. Never allocates more than a block of maximum size needs.
    package static func table(from bytes: [UInt8], columns: [SeriesColumn]) throws(WireError) -> SampleTable {
        guard bytes.count <= SeriesLimits.blockBytesMax else {
            throw WireError(.oversized, "a block of \(bytes.count) bytes; the limit is \(SeriesLimits.blockBytesMax)")
        }
        let result = bytes.withUnsafeBytes { bytes in
            Result<SampleTable, WireError> { () throws(WireError) in
                var reader = WireReader(bytes)
                return try read(from: &reader, columns: columns)
            }
        }
        return try result.get()
    }

    private static func read(
        from reader: inout WireReader, columns: [SeriesColumn]
    ) throws(WireError) -> SampleTable {
        let stated = try reader.readVarint()
        guard let count = Int(exactly: stated), (1...SeriesLimits.blockSamples).contains(count) else {
            throw WireError(.oversized, "a block of \(stated) samples; the limit is \(SeriesLimits.blockSamples)")
        }
        let unit = Int(try reader.readUInt8())
        guard units.indices.contains(unit) else {
            throw WireError(.corrupted, "a block with the unknown unit of time \(unit)")
        }
        let times = try readWhole(count, from: &reader)
        let timeMax = SampleTime.max / units[unit]
        guard times.allSatisfy({ (-timeMax...timeMax).contains($0) }) else {
            throw WireError(.corrupted, "the time of a sample is out of range")
        }
        let flags = try reader.readUInt8()
        guard flags <= 1 else { throw WireError(.corrupted, "a block with flags \(flags)") }
        let whole = SampleTable(columns: columns).wholePresence
        var presences = Array(repeating: whole, count: count)
        if flags == 1 {
            presences = try readWhole(count, from: &reader).map { UInt64(bitPattern: $0) }
            guard presences.allSatisfy({ $0 & ~whole == 0 }) else {
                throw WireError(.corrupted, "a sample has more numbers than there are columns")
            }
        }
        var cells: [[UInt64]] = []
        for column in columns { cells.append(try readCells(count, column.kind, from: &reader)) }
        guard reader.isAtEnd else { throw WireError(.trailingBytes, "\(reader.remaining) bytes after a block") }
        return SampleTable(
            columns: columns, times: times.map { $0 * units[unit] }, cells: cells, presences: presences)
    }

    private static func readForm(from reader: inout WireReader) throws(WireError) -> (Form, IntegerColumn.Order) {
        let byte = try reader.readUInt8()
        guard let form = Form(rawValue: byte >> 4), let order = IntegerColumn.Order(rawValue: byte & 0xF) else {
            throw WireError(.corrupted, "a column with the unknown form \(byte)")
        }
        return (form, order)
    }

    private static func readWhole(_ count: Int, from reader: inout WireReader) throws(WireError) -> [Int64] {
        let (form, order) = try readForm(from: &reader)
        guard form == .whole else { throw WireError(.corrupted, "a column of whole numbers has another form") }
        return try IntegerColumn.read(count, order, from: &reader)
    }

    private static func readCells(
        _ count: Int, _ kind: SeriesColumn.Kind, from reader: inout WireReader
    ) throws(WireError) -> [UInt64] {
        let (form, order) = try readForm(from: &reader)
        switch (kind, form) {
        case (.integer, .whole), (.unsigned, .whole), (.bool, .whole):
            return try IntegerColumn.read(count, order, from: &reader).map { UInt64(bitPattern: $0) }
        case (.float, .decimals), (.date, .decimals):
            let exponent = try reader.readUInt8()
            return try FloatColumn.numbers(IntegerColumn.read(count, order, from: &reader), exponent: exponent)
        case (.float, .singles), (.date, .singles):
            return try FloatColumn.read(count, from: &reader).map(FloatColumn.double)
        case (.float, .doubles), (.date, .doubles): return try FloatColumn.read(count, from: &reader)
        default: throw WireError(.corrupted, "a column of kind \(kind) has the form of another kind")
        }
    }
}
