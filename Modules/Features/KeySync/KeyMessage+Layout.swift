import Foundation
import MeshConnection
import MeshIdentity
import MeshRegister
import MeshWire

/// A message encodes as one run of bytes with every codec. Docs/Internals/KeyMessages.md has the layout.
extension KeyMessage: Codable {
    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(Data(packed()))
    }

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        do {
            self = try container.decode(Data.self).withUnsafeBytes { try Self(packed: $0) }
        } catch let error as WireError {
            throw DecodingError.dataCorruptedError(in: container, debugDescription: "\(error)")
        }
    }

    func packed() -> [UInt8] {
        var writer = WireWriter(capacity: 4096 + items.reduce(0) { $0 + $1.byteCount })
        let names = versions + refused + [piece?.name, pieceMark?.name].compactMap { $0 }
        var table = KeyAuthors()
        for name in names { table.insert(name.version.author) }
        for item in items { table.insert(item.entry.version.author) }
        table.write(to: &writer)
        writer.writeVarint(nonce)
        let flags: [Bool] = [
            digests != nil, answers != nil, isAcknowledgement, isPartial, compared != nil, piece != nil,
            pieceMark != nil, record != nil,
        ]
        writer.write(flags.enumerated().reduce(UInt8(0)) { $0 | ($1.element ? 1 << $1.offset : 0) })
        for digest in digests ?? [] { writer.write(digest) }
        if let answers { writer.writeVarint(answers) }
        if let compared { writer.writeVarint(compared) }
        writer.writeList(buckets) { $0.writeVarint(UInt64($1)) }
        writer.writeList(prints) { $0.write(print: $1) }
        writer.writeList(wantedPrints) { $0.write(print: $1) }
        writer.writeList(versions) { table.write($1, to: &$0) }
        writer.writeList(wants) { $0.write($1) }
        writer.writeList(items) {
            table.write($1.name, to: &$0)
            $0.write(optional: $1.entry.bytes)
        }
        writer.writeList(taken) { $0.writeVarint($1) }
        writer.writeList(refused) { table.write($1, to: &$0) }
        writer.writeVarint(UInt64(remaining))
        if let piece {
            table.write(piece.name, to: &writer)
            writer.writeVarint(UInt64(piece.offset))
            writer.writeVarint(UInt64(piece.total))
            writer.write(optional: piece.bytes)
        }
        if let pieceMark {
            table.write(pieceMark.name, to: &writer)
            writer.writeVarint(UInt64(pieceMark.count))
        }
        // The record comes last, because versions that don't know it stop reading here.
        if let record {
            writer.writeVarint(record.newest.rawValue)
            writer.write(record.seen)
        }
        return writer.array()
    }

    /// - Throws: `WireError`.
    init(packed bytes: UnsafeRawBufferPointer) throws(WireError) {
        var reader = WireReader(bytes)
        var table = try KeyAuthors(from: &reader)
        self.init(nonce: try reader.readVarint())
        let flags = try reader.readUInt8()
        func has(_ bit: UInt8) -> Bool { flags & (1 << bit) != 0 }
        (isAcknowledgement, isPartial) = (has(2), has(3))
        if has(0) {
            var list: [UInt64] = []
            list.reserveCapacity(KeyLimits.bucketCount)
            for _ in 0..<KeyLimits.bucketCount { list.append(try reader.readUInt64()) }
            digests = list
        }
        if has(1) { answers = try reader.readVarint() }
        if has(4) { compared = try reader.readVarint() }
        buckets = try reader.readList { reader throws(WireError) in try reader.readCount(KeyLimits.bucketCount) }
        prints = try reader.readList { reader throws(WireError) in try reader.readPrint() }
        wantedPrints = try reader.readList { reader throws(WireError) in try reader.readPrint() }
        versions = try reader.readList { reader throws(WireError) in try table.read(from: &reader) }
        wants = try reader.readList { reader throws(WireError) in try reader.readString() }
        items = try reader.readList { reader throws(WireError) in
            let name = try table.read(from: &reader)
            return Item(key: name.key, entry: StateEntry(version: name.version, bytes: try reader.readOptionalData()))
        }
        taken = try reader.readList { reader throws(WireError) in try reader.readVarint() }
        refused = try reader.readList { reader throws(WireError) in try table.read(from: &reader) }
        remaining = try reader.readCount(KeyLimits.keysMax)
        if has(5) {
            piece = Piece(
                name: try table.read(from: &reader), offset: try reader.readCount(KeyLimits.valueBytesMax),
                total: try reader.readCount(KeyLimits.valueBytesMax), bytes: try reader.readOptionalData() ?? Data())
        }
        if has(6) {
            pieceMark = PieceMark(
                name: try table.read(from: &reader), count: try reader.readCount(KeyLimits.valueBytesMax))
        }
        if has(7) {
            record = Record(newest: HybridTimestamp(rawValue: try reader.readVarint()))
            record?.seen = try reader.readVector()
        }
    }
}

/// The layout of one key in the store.
extension StateEntry {
    func stored(by writer: inout WireWriter) -> [UInt8] {
        writer.reset()
        writer.write(1 as UInt8)
        writer.write(version.stamp.rawValue)
        writer.write(version.author)
        writer.write(optional: bytes)
        return writer.array()
    }

    /// - Throws: `WireError`.
    init(stored bytes: [UInt8]) throws {
        self = try bytes.withUnsafeBytes { bytes throws(WireError) in
            var reader = WireReader(bytes)
            let layout = try reader.readUInt8()
            guard layout == 1 else {
                throw WireError(.unsupportedVersion, "the key has layout \(layout); this version reads 1")
            }
            let stamp = HybridTimestamp(rawValue: try reader.readUInt64())
            let version = StateVersion(stamp: stamp, author: try reader.readString())
            let entry = StateEntry(version: version, bytes: try reader.readOptionalData())
            // A higher stamp would move the clock to where peers refuse its stamps. Earlier versions stored such values.
            guard reader.isAtEnd, stamp.isAttainable else {
                throw WireError(.corrupted, "the key has extra bytes or an implausible stamp")
            }
            return entry
        }
    }
}

/// Compresses versions. Each author is written once and then referred to by its index; each stamp is a difference from
/// the stamp before.
private struct KeyAuthors {
    private var names: [String] = []
    private var places: [String: Int] = [:]
    private var stamp: UInt64 = 0

    init() {}

    mutating func insert(_ author: String) {
        // A shortcut: most versions have the same author as the one before.
        guard names.last != author, places[author] == nil else { return }
        places[author] = names.count
        names.append(author)
    }

    init(from reader: inout WireReader) throws(WireError) {
        names = try reader.readList { reader throws(WireError) in try reader.readString() }
    }

    func write(to writer: inout WireWriter) { writer.writeList(names) { $0.write($1) } }

    mutating func write(_ name: KeyMessage.Version, to writer: inout WireWriter) {
        writer.write(name.key)
        if names.count > 1 { writer.writeVarint(UInt64(places[name.version.author] ?? 0)) }
        writer.writeSignedVarint(Int64(bitPattern: name.version.stamp.rawValue &- stamp))
        stamp = name.version.stamp.rawValue
    }

    mutating func read(from reader: inout WireReader) throws(WireError) -> KeyMessage.Version {
        let key = try reader.readString()
        let place = names.count > 1 ? try reader.readCount(names.count - 1) : 0
        guard names.indices.contains(place) else { throw WireError(.corrupted, "a version refers to a missing author") }
        stamp = stamp &+ UInt64(bitPattern: try reader.readSignedVarint())
        return .init(key: key, version: StateVersion(stamp: HybridTimestamp(rawValue: stamp), author: names[place]))
    }
}

extension WireWriter {
    fileprivate mutating func writeList<Element>(_ list: [Element], _ write: (inout WireWriter, Element) -> Void) {
        writeVarint(UInt64(list.count))
        for element in list { write(&self, element) }
    }

    mutating func write(_ vector: StateVector) {
        writeList(vector.stamps.sorted { $0.key < $1.key }) { writer, element in
            writer.write(element.key)
            writer.write(element.value.rawValue)
        }
    }

    fileprivate mutating func write(print: UInt64) {
        write(UInt32(truncatingIfNeeded: print))
        write(UInt16(truncatingIfNeeded: print >> 32))
    }

    /// Writes the length plus one, or zero for nil.
    fileprivate mutating func write(optional data: Data?) {
        guard let data else { return writeVarint(0) }
        writeVarint(UInt64(data.count) + 1)
        data.withUnsafeBytes { writeRaw($0) }
    }
}

extension WireReader {
    /// - Throws: `WireError`, also if the count exceeds the number of keys or of remaining bytes.
    fileprivate mutating func readList<Element>(
        _ read: (inout WireReader) throws(WireError) -> Element
    ) throws(WireError) -> [Element] {
        let count = try readCount(min(remaining, KeyLimits.keysMax))
        var list: [Element] = []
        list.reserveCapacity(count)
        for _ in 0..<count { list.append(try read(&self)) }
        return list
    }

    fileprivate mutating func readCount(_ max: Int) throws(WireError) -> Int {
        let count = try readVarint()
        guard count <= UInt64(max) else { throw WireError(.oversized, "\(count) exceeds the maximum of \(max)") }
        return Int(count)
    }

    mutating func readVector() throws(WireError) -> StateVector {
        let list = try readList { reader throws(WireError) in
            (try reader.readString(), HybridTimestamp(rawValue: try reader.readUInt64()))
        }
        return StateVector(Dictionary(list, uniquingKeysWith: max))
    }

    fileprivate mutating func readPrint() throws(WireError) -> UInt64 {
        let low = try readUInt32()
        return UInt64(try readUInt16()) << 32 | UInt64(low)
    }

    fileprivate mutating func readOptionalData() throws(WireError) -> Data? {
        let count = try readCount(KeyLimits.valueBytesMax + 1)
        return count == 0 ? nil : Data(try readRaw(count - 1))
    }
}
