import MeshFoundation

// Encoding in one pass: each value is written at once. A frame describes a value while its `encode(to:)` runs. A nested
// container or super encoder has a frame until the container around it is used again. An encoding is irregular if it
// returns to a nested container later, encodes a key twice, uses a second kind of container for a value, or catches
// an error of an inner value. The message is then encoded again from an `EncodedShape`.

/// The state that all containers of one message share. They hold a pointer to it and no other reference.
struct EncodeState: ~Copyable {
    private let ownWriter: UnsafeMutablePointer<CompactWriter>
    let usesDirectPath: Bool
    /// True if no record of the message repeats a name.
    private let namesAreUnique: Bool
    /// True if the bytes written so far can't be used, because the encoding is irregular.
    var isIrregular = false
    /// The tables of the calling thread.
    let scratch: UnsafeMutablePointer<CoderScratch>

    private var frames: UnsafeMutablePointer<EncodeFrame>
    private var framesCapacity = CoderScratch.framesCount
    private(set) var top = -1
    /// Serial number of the top frame. Containers compare it with their own.
    private(set) var current: UInt32 = 0
    private var lastSerial: UInt32 = 0

    /// Memory of containers that aren't cached.
    var arena = ContentsArena<RecordWriting>()

    /// - Parameter writer: Must outlive the state.
    init(
        writer: UnsafeMutablePointer<CompactWriter>, scratch: UnsafeMutablePointer<CoderScratch>, usesDirectPath: Bool,
        namesAreUnique: Bool = false
    ) {
        ownWriter = writer
        self.scratch = scratch
        self.usesDirectPath = usesDirectPath
        self.namesAreUnique = namesAreUnique
        frames = scratch.pointee.takeFrames()
    }

    deinit { scratch.pointee.recycle(frames, capacity: framesCapacity) }

    var writer: CompactWriter {
        @inline(__always) unsafeAddress { UnsafePointer(ownWriter) }
        @inline(__always) nonmutating unsafeMutableAddress { ownWriter }
    }
}

/// A value or nested container that is being written.
struct EncodeFrame {
    enum Form: UInt8 {
        /// The head hasn't been written: the first container decides the form.
        case unopened
        case single, record, list
    }

    var serial: UInt32
    var head: WireHead
    var form = Form.unopened
    /// True for frames from `nestedContainer` or `superEncoder`, which have no explicit end.
    var isNested: Bool
    var count = 0
    /// Offset of a list's count, which is patched at the end.
    var countOffset = 0
    /// True for a set or dictionary that can't repeat a name. Its fields aren't checked for repetition.
    var hasUniqueNames = false
    /// The type whose `encode(to:)` is running; nil for nested containers.
    var type: UnsafeRawPointer?
    /// Bit sets of the record's field numbers: below 64, and from 64 to 255.
    var fields: UInt64 = 0
    var furtherFields: SIMD4<UInt64> = .zero
    /// Highest of the record's field numbers from 256 on.
    var lastField: UInt32 = 0

    /// Records a field of the record.
    /// - Returns: false if the record already has the field, or may have it.
    @inline(__always)
    mutating func addField(_ field: UInt32) -> Bool {
        guard _fastPath(field < 64) else { return addFurtherField(field) }
        let bit = 1 &<< UInt64(field)
        // Bit 0 stands for every name without a number, so it counts as present.
        guard _fastPath((fields | 1) & bit == 0) else { return false }
        fields |= bit
        return true
    }

    @inline(never)
    private mutating func addFurtherField(_ field: UInt32) -> Bool {
        guard field < 256 else {
            defer { lastField = max(lastField, field) }
            return field > lastField
        }
        let (word, bit) = (Int(field >> 6), 1 &<< UInt64(field & 63))
        defer { furtherFields[word] |= bit }
        return furtherFields[word] & bit == 0
    }
}

// MARK: - Frames

extension EncodeState {
    var frame: EncodeFrame {
        @inline(__always) get { frames[top] }
        @inline(__always) set { frames[top] = newValue }
    }

    @inline(__always)
    mutating func push(_ head: WireHead, isNested: Bool, type: UnsafeRawPointer? = nil) {
        if _slowPath(top + 1 == framesCapacity) { growFrames() }
        top &+= 1
        lastSerial &+= 1
        current = lastSerial
        (frames + top).initialize(to: EncodeFrame(serial: current, head: head, isNested: isNested, type: type))
    }

    private mutating func growFrames() {
        let larger = UnsafeMutablePointer<EncodeFrame>.allocate(capacity: framesCapacity * 2)
        larger.moveInitialize(from: frames, count: framesCapacity)
        frames.deallocate()
        frames = larger
        framesCapacity *= 2
    }

    /// Ends the top frame. A value that wrote nothing is an empty record.
    @inline(__always)
    mutating func pop() {
        switch frames[top].form {
        case .record: writer.closeRecord()
        case .single: break
        case .list: closeList()
        case .unopened:
            writer.openRecord(.namedRecord, as: frames[top].head)
            writer.closeRecord()
        }
        top &-= 1
        current = top >= 0 ? frames[top].serial : 0
    }

    /// Makes the frame of a container the top one again. Ends nested containers that were opened since.
    @inline(never)
    mutating func returnTo(_ serial: UInt32) throws {
        var index = top
        while index >= 0, frames[index].serial != serial {
            if !frames[index].isNested { index = 0 }
            index -= 1
        }
        guard index >= 0, serial != 0, !isIrregular else { throw irregular() }
        while top > index { pop() }
    }

    /// Marks the encoding as irregular. Callers discard the error, because the message is encoded again.
    @inline(never)
    mutating func irregular() -> WireError {
        isIrregular = true
        return WireError(.encodingFailed, "encode(to:) uses its containers in an unsupported order")
    }

    mutating func dropFrames(above count: Int) {
        top = count
        current = top >= 0 ? frames[top].serial : 0
    }
}

// MARK: - Opening

extension EncodeState {
    /// Opens the value of a frame as a record, or continues that record.
    mutating func openRecord(_ serial: UInt32) {
        guard serial == current || (try? returnTo(serial)) != nil else { return }
        switch frame.form {
        case .record: return
        case .unopened:
            frames[top].form = .record
            writer.openRecord(.namedRecord, as: frame.head)
        case .single, .list: _ = irregular()
        }
    }

    /// Opens the value of a frame as a list, or continues that list.
    mutating func openList(_ serial: UInt32) {
        guard serial == current || (try? returnTo(serial)) != nil else { return }
        switch frame.form {
        case .list: return
        case .unopened:
            writer.openList(count: 0, as: frame.head)
            frames[top].form = .list
            frames[top].countOffset = writer.bytes.position - 1
        case .single, .record: _ = irregular()
        }
    }

    /// Returns the head for the only value of a frame.
    @inline(__always)
    mutating func openSingle(_ serial: UInt32) throws -> WireHead {
        if _slowPath(serial != current) { try returnTo(serial) }
        guard _fastPath(frames[top].form == .unopened) else { throw irregular() }
        frames[top].form = .single
        return frames[top].head
    }

    /// Patches the count of a list. A count longer than the reserved byte moves the bytes after it.
    private mutating func closeList() {
        writer.closeList()
        let (count, offset) = (frames[top].count, frames[top].countOffset)
        if _fastPath(count < 0x80) {
            writer.bytes.base.storeBytes(of: UInt8(truncatingIfNeeded: count), toByteOffset: offset, as: UInt8.self)
            return
        }
        let distance = writer.bytes.widen(at: offset, toVarint: UInt64(count))
        if !writer.putsNamesFirst { writer.names.move(from: offset, by: distance) }
        writer.strings.move(from: offset, by: distance)
    }
}

// MARK: - Fields and elements

extension EncodeState {
    /// Returns the head for a field, and makes its record the current one.
    @inline(__always)
    mutating func field<Key: CodingKey>(
        _ key: Key, of serial: UInt32, _ entry: UnsafeMutablePointer<KeyTables.Entry>?
    ) throws -> WireHead {
        if _slowPath(serial != current) { try returnTo(serial) }
        let head = head(key, entry)
        try addField(head)
        return head
    }

    /// Records a field of the current record. Throws if it may be a repetition.
    @inline(__always)
    mutating func addField(_ head: WireHead) throws {
        guard _slowPath(!frames[top].addField(head.field)) else { return }
        if !frames[top].hasUniqueNames, !namesAreUnique { throw irregular() }
    }

    /// Returns the head for a field of the current record.
    @inline(__always)
    mutating func head<Key: CodingKey>(_ key: Key, _ entry: UnsafeMutablePointer<KeyTables.Entry>?) -> WireHead {
        if let entry {
            let number = entry.pointee.number(key)
            if _fastPath(number != 0) { return WireHead(field: UInt32(number)) }
        }
        return define(key, entry)
    }

    @inline(never)
    private mutating func define<Key: CodingKey>(
        _ key: Key, _ entry: UnsafeMutablePointer<KeyTables.Entry>?
    ) -> WireHead {
        guard let entry else { return writer.writeName(key.stringValue) }
        let ordinal = KeyTables.ordinal(key)
        if entry.pointee.names[ordinal] == nil {
            var name = key.stringValue
            name.withUTF8 { entry.pointee.names.remember(UnsafeRawBufferPointer($0), at: ordinal) }
        }
        let head: WireHead
        if let name = entry.pointee.names[ordinal] {
            head = writer.writeName(name.text, hash: name.hash, isPadded: true)
        } else {
            head = writer.writeName(key.stringValue)
        }
        entry.pointee.setNumber(UInt64(head.field), at: ordinal)
        return head
    }

    /// Returns the head for an element, and makes its list the current one.
    @inline(__always)
    mutating func element(of serial: UInt32) throws -> WireHead {
        if _slowPath(serial != current) { try returnTo(serial) }
        frames[top].count &+= 1
        return .element
    }

    @inline(__always)
    func strategy<Value>(for type: Value.Type) -> CodingStrategy {
        scratch.pointee.strategy(for: type, usesDirectPath)
    }

    @inline(__always)
    func keyEntry<Key: CodingKey>(_ type: Key.Type) -> UnsafeMutablePointer<KeyTables.Entry>? {
        scratch.pointee.encodingKeys.entry(type)
    }
}

extension EncodeState {
    /// Ends all frames and returns the message.
    mutating func finish() throws -> [UInt8] {
        while top >= 0 { pop() }
        if let failure = writer.failure { throw failure }
        return writer.message()
    }
}

extension WireWriter {
    /// Replaces the byte at `offset` with a longer varint.
    /// - Returns: The distance by which the bytes after it have moved.
    fileprivate mutating func widen(at offset: Int, toVarint value: UInt64) -> Int {
        let width = (64 - value.leadingZeroBitCount + 6) / 7
        reserve(width)
        let following = position - offset - 1
        base.advanced(by: offset + width).copyMemory(from: base.advanced(by: offset + 1), byteCount: following)
        let end = position + width - 1
        position = offset
        appendVarint(value)
        position = end
        return width - 1
    }
}
