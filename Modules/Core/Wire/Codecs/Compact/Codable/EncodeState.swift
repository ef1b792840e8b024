import MeshFoundation

/// Everything that the containers of one message share; they hold a pointer to it and no other reference.
///
/// Values are written as they come. Every value whose `encode(to:)` runs has a frame, and so has every nested container
/// and super encoder, until the container around it is used again. An encoding is *irregular* when it goes back to a
/// nested container after that, encodes a key twice, uses a second kind of container for a value, or catches an error
/// of a value inside. The message is then written once more from its `EncodedShape`.
struct EncodeState: ~Copyable {
    private let ownWriter: UnsafeMutablePointer<CompactWriter>
    let usesDirectPath: Bool
    /// The bytes written so far are of no use.
    var isIrregular = false
    /// The thread's tables.
    let scratch: UnsafeMutablePointer<CoderScratch>

    private var frames: UnsafeMutablePointer<EncodeFrame>
    private var framesCapacity = CoderScratch.framesCount
    private(set) var top = -1
    /// The serial number of the top frame; containers compare it with their own.
    private(set) var current: UInt32 = 0
    private var lastSerial: UInt32 = 0

    /// Of containers that are not kept.
    var places = PlaceArena<RecordWriting>()

    /// - Parameter writer: must outlive the state.
    init(
        writer: UnsafeMutablePointer<CompactWriter>, scratch: UnsafeMutablePointer<CoderScratch>, usesDirectPath: Bool
    ) {
        ownWriter = writer
        self.scratch = scratch
        self.usesDirectPath = usesDirectPath
        frames = scratch.pointee.takeFrames()
    }

    deinit { scratch.pointee.giveBack(frames, capacity: framesCapacity) }

    var writer: CompactWriter {
        @inline(__always) unsafeAddress { UnsafePointer(ownWriter) }
        @inline(__always) nonmutating unsafeMutableAddress { ownWriter }
    }
}

/// A value or nested container that is being written.
struct EncodeFrame {
    enum Form: UInt8 {
        /// Its head has not been written: what it is shows with the first container.
        case unopened
        case single, record, list
    }

    var serial: UInt32
    var head: WireHead
    var form = Form.unopened
    /// Opened by `nestedContainer` or `superEncoder`, so that nobody says when it ends.
    var isNested: Bool
    var count = 0
    /// Where the count of a list is patched in.
    var countOffset = 0
    /// The value is a dictionary, whose keys have different names.
    var hasUniqueNames = false
    /// The type whose `encode(to:)` is running.
    var type: UnsafeRawPointer?
    /// Field numbers below 64 that the record has, and those below 256.
    var fields: UInt64 = 0
    var furtherFields: SIMD4<UInt64> = .zero
    /// The highest field number from 256 on that the record has.
    var lastField: UInt32 = 0

    /// Notes a field of the record.
    /// - Returns: false if the record has the field already, or if that isn't known.
    @inline(__always)
    mutating func note(_ field: UInt32) -> Bool {
        guard _fastPath(field < 64) else { return noteFurther(field) }
        let bit = 1 &<< UInt64(field)
        // Bit 0 is that of a name without a number.
        guard _fastPath((fields | 1) & bit == 0) else { return false }
        fields |= bit
        return true
    }

    @inline(never)
    private mutating func noteFurther(_ field: UInt32) -> Bool {
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

    /// Makes the frame of a container the top one again, which ends nested containers that were opened since.
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

    /// Nobody reads this error: the encoding begins again.
    @inline(never)
    mutating func irregular() -> WireError {
        isIrregular = true
        return WireError(.encodingFailed, "containers are used out of order")
    }

    mutating func dropFrames(above count: Int) {
        top = count
        current = top >= 0 ? frames[top].serial : 0
    }
}

// MARK: - Opening

extension EncodeState {
    /// Opens the value of a frame as a record, or goes on with it.
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

    /// Opens the value of a frame as a list, or goes on with it.
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

    /// The head for the only value of a frame.
    @inline(__always)
    mutating func openSingle(_ serial: UInt32) throws -> WireHead {
        if _slowPath(serial != current) { try returnTo(serial) }
        guard _fastPath(frames[top].form == .unopened) else { throw irregular() }
        frames[top].form = .single
        return frames[top].head
    }

    /// The count was one byte when the list was opened; a longer one moves what follows.
    private mutating func closeList() {
        writer.closeList()
        let (count, offset) = (frames[top].count, frames[top].countOffset)
        if _fastPath(count < 0x80) {
            writer.bytes.base.storeBytes(of: UInt8(truncatingIfNeeded: count), toByteOffset: offset, as: UInt8.self)
            return
        }
        let distance = writer.bytes.widen(at: offset, toVarint: UInt64(count))
        if !writer.namesLieFirst { writer.names.move(from: offset, by: distance) }
        writer.strings.move(from: offset, by: distance)
    }
}

// MARK: - Fields and elements

extension EncodeState {
    /// The head for a field of a record.
    @inline(__always)
    mutating func field<Key: CodingKey>(
        _ key: Key, of serial: UInt32, _ entry: UnsafeMutablePointer<KeyTables.Entry>?
    ) throws -> WireHead {
        if _slowPath(serial != current) { try returnTo(serial) }
        let head = head(key, entry)
        try note(head)
        return head
    }

    /// Notes a field of the record that is being written.
    @inline(__always)
    mutating func note(_ head: WireHead) throws {
        if _slowPath(!frames[top].note(head.field)), !frames[top].hasUniqueNames { throw irregular() }
    }

    /// The head for a field of the record that is being written.
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
        let place = KeyTables.ordinal(key)
        if entry.pointee.names[place] == nil {
            var name = key.stringValue
            name.withUTF8 { entry.pointee.names.remember(UnsafeRawBufferPointer($0), at: place) }
        }
        let head: WireHead
        if let name = entry.pointee.names[place] {
            head = writer.writeName(name.text, hash: name.hash, isPadded: true)
        } else {
            head = writer.writeName(key.stringValue)
        }
        entry.pointee.setNumber(UInt64(head.field), at: place)
        return head
    }

    /// The head for an element of a list.
    @inline(__always)
    mutating func element(of serial: UInt32) throws -> WireHead {
        if _slowPath(serial != current) { try returnTo(serial) }
        frames[top].count &+= 1
        return .element
    }

    @inline(__always)
    func classify<Value>(_ type: Value.Type) -> TypeClass {
        scratch.pointee.classify(type, usesDirectPath)
    }

    @inline(__always)
    func keyEntry<Key: CodingKey>(_ type: Key.Type) -> UnsafeMutablePointer<KeyTables.Entry>? {
        scratch.pointee.encodingKeys.entry(type)
    }
}

extension EncodeState {
    /// The finished message.
    mutating func finish() throws -> [UInt8] {
        while top >= 0 { pop() }
        if let failure = writer.failure { throw failure }
        return writer.message()
    }
}

extension WireWriter {
    /// Replaces the byte at `offset` by a longer varint.
    /// - Returns: how far the bytes after it have moved.
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
