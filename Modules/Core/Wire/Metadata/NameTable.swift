import MeshIdentity

/// The field names that both ends of a connection remember, so that payloads of `compact` needn't repeat them.
///
/// At most `capacity` names of 1 to `nameBytesMax` bytes: 33 KiB and an index. Longer names are usually keys of a
/// dictionary, not fields. When the table is full, the writer spells out further names. A table of capacity 0 remembers
/// nothing. Names are only bytes here; the reader of the payload rejects invalid UTF-8.
struct NameTable: ~Copyable {
    static let capacityMax = 1024
    static let nameBytesMax = 32

    let capacity: Int
    private(set) var count = 0
    /// Slots of `slotBytes` bytes: a length of one byte, then the name.
    private var slots = WireWriter(capacity: 64)
    /// Finds the number of a name, for the writer.
    private var index = TextNumbering()
    /// The names of the current payload in full, for the reader.
    private var restored = WireWriter(capacity: 64)

    private static let slotBytes = 1 + nameBytesMax

    init(capacity: Int) { self.capacity = min(capacity, Self.capacityMax) }

    private static func canRemember(_ name: UnsafeRawBufferPointer) -> Bool {
        (1...nameBytesMax).contains(name.count)
    }

    /// - Parameter number: The number of a known name, or the next one.
    private mutating func setName(_ number: Int, to name: UnsafeRawBufferPointer) {
        count = max(count, number + 1)
        slots.position = number * Self.slotBytes
        slots.reserve(Self.slotBytes)
        slots.append(UInt8(truncatingIfNeeded: name.count))
        slots.writeRaw(name)
        slots.position = count * Self.slotBytes
    }
}

/// The form of a name. 0: in full. 2 × number + 1: in full, and remembered. 2 × number + 2: only its number.
private enum NameHead {
    static let full: UInt64 = 0
    static func defining(_ number: Int) -> UInt64 { UInt64(number) * 2 + 1 }
    static func using(_ number: Int) -> UInt64 { UInt64(number) * 2 + 2 }
}

// MARK: - Writing

extension NameTable {
    /// The rest of a payload, after its names.
    struct Tail {
        let bytes: UnsafeRawBufferPointer
        var flags: FrameFlags = []
        /// True if the caller must call `remember(namesOf:)` once the frame is complete.
        var hasNewNames = false
    }

    /// Writes the names of a payload as numbers, if they come first and the connection remembers names.
    ///
    /// - Parameter payload: The complete payload. May come from a peer, so one that isn't valid is sent unchanged.
    @inline(__always)
    func writeNames(
        of payload: UnsafeRawBufferPointer, _ codec: PayloadCodecID, in writer: inout WireWriter
    ) -> Tail {
        guard payload.first == WireKind.names.rawValue, capacity > 0, codec == CompactCodec.id else {
            return Tail(bytes: payload)
        }
        return writeNames(of: payload, in: &writer)
    }

    private func writeNames(of payload: UnsafeRawBufferPointer, in writer: inout WireWriter) -> Tail {
        let start = writer.position
        var reader = WireReader(payload)
        guard let newNames = try? writeList(of: &reader, in: &writer) else {
            writer.position = start
            return Tail(bytes: payload)
        }
        let rest = UnsafeRawBufferPointer(start: reader.cursor, count: reader.remaining)
        return Tail(bytes: rest, flags: .names, hasNewNames: newNames > 0)
    }

    /// - Returns: The number of names that are new and will be remembered.
    private func writeList(of payload: inout WireReader, in writer: inout WireWriter) throws(WireError) -> Int {
        let names = try payload.readNameCount()
        writer.writeVarint(UInt64(names))
        var next = count
        for _ in 0..<names {
            let name = try payload.readRaw(Int(try payload.readShortestVarint(upTo: payload.remaining)))
            if let number = number(of: name) {
                writer.writeVarint(NameHead.using(number))
                continue
            }
            let isRemembered = next < capacity && Self.canRemember(name)
            writer.writeVarint(isRemembered ? NameHead.defining(next) : NameHead.full)
            writer.writeVarint(UInt64(name.count))
            writer.writeRaw(name)
            if isRemembered { next += 1 }
        }
        return next - count
    }

    /// Remembers the new names of a payload. Call it when its frame is complete.
    mutating func remember(namesOf payload: UnsafeRawBufferPointer) {
        var reader = WireReader(payload)
        // Names that were written can always be read again. A failure would only leave them unknown.
        guard let names = try? reader.readNameCount() else { return }
        let known = count
        for _ in 0..<names {
            guard let length = try? reader.readLength(), let name = try? reader.readRaw(length) else { return }
            // If a list has a new name twice, `writeList` has given it two numbers, so this does the same.
            guard count < capacity, Self.canRemember(name), number(of: name) ?? known >= known else { continue }
            index.define(name, hash: TextNumbering.hash(name), offset: count * Self.slotBytes + 1)
            setName(count, to: name)
        }
    }

    private func number(of name: UnsafeRawBufferPointer) -> Int? {
        index.find(name, hash: TextNumbering.hash(name), in: slots.base)
    }
}

extension WireReader {
    /// Reads the `names` kind at the start of a payload, and returns the number of names.
    fileprivate mutating func readNameCount() throws(WireError) -> Int {
        guard try readUInt8() == WireKind.names.rawValue else {
            throw WireError(.corrupted, "the payload doesn't begin with names")
        }
        return Int(try readShortestVarint(upTo: min(remaining, CompactLimit.texts)))
    }

    /// Rejects a varint that is longer than necessary, because the receiver couldn't restore the same bytes.
    fileprivate mutating func readShortestVarint(upTo limit: Int) throws(WireError) -> UInt64 {
        let before = remaining
        let value = try readVarint()
        guard before - remaining == max(1, (70 - value.leadingZeroBitCount) / 7) else {
            throw WireError(.corrupted, "the number \(value) takes \(before - remaining) bytes, more than necessary")
        }
        guard value <= UInt64(limit) else {
            throw WireError(.oversized, "a list of names has a count or length of \(value), but the limit is \(limit)")
        }
        return value
    }
}

// MARK: - Reading

extension NameTable {
    /// Reads a list of names and the rest of a payload. Returns a payload with all names in full, which stands alone.
    mutating func readPayload(_ reader: inout WireReader) throws(WireError) -> [UInt8] {
        if restored.capacity > Self.keptBytes { restored = WireWriter(capacity: 64) } else { restored.reset() }
        try restoreNames(&reader)
        return restored.array(followedBy: try reader.readRaw(reader.remaining))
    }

    /// Maximum capacity in bytes that is kept for the next payload.
    private static let keptBytes = 1 << 18

    /// Restores the names: at most 4096. Each takes at most 33 bytes or is in the frame itself.
    private mutating func restoreNames(_ reader: inout WireReader) throws(WireError) {
        let names = try reader.readVarint()
        guard names <= UInt64(min(reader.remaining, CompactLimit.texts)) else {
            throw WireError(
                .oversized, "a list of \(names) names exceeds its bytes or the limit of \(CompactLimit.texts)")
        }
        restored.write(WireKind.names.rawValue)
        restored.writeVarint(names)
        for _ in 0..<names {
            let head = try reader.readVarint()
            if head != NameHead.full, head % 2 == 0 {
                try restoreName(head / 2 - 1)
                continue
            }
            let name = try reader.readRaw(try reader.readLength())
            restored.writeVarint(UInt64(name.count))
            restored.writeRaw(name)
            if head != NameHead.full { try define(head / 2, as: name) }
        }
    }

    private mutating func restoreName(_ number: UInt64) throws(WireError) {
        guard number < UInt64(count) else {
            throw WireError(.corrupted, "the frame refers to name \(number) of its connection, which was never sent")
        }
        let slot = slots.base + Int(number) * Self.slotBytes
        restored.writeRaw(UnsafeRawBufferPointer(start: slot, count: 1 + Int(slot.load(as: UInt8.self))))
    }

    /// Sets a name. Numbers are first used in order. Later they may be redefined.
    private mutating func define(_ number: UInt64, as name: UnsafeRawBufferPointer) throws(WireError) {
        guard number < UInt64(capacity), number <= UInt64(count), Self.canRemember(name) else {
            throw WireError(
                .corrupted,
                "the frame defines name \(number) out of order, or with an invalid length of \(name.count) bytes")
        }
        setName(Int(number), to: name)
    }
}
