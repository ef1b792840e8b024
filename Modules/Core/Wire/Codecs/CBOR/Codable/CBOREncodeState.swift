#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// What has been encoded so far: bytes of keys and scalars in the order of writing, and the parts of the message that they
/// are of. Codable lets a type fill its containers in any order; the message is assembled from the parts at the end.
struct CBOREncodeState: ~Copyable {
    struct Part {
        enum Form: UInt8 {
            /// Nothing has been encoded yet.
            case open
            /// Its bytes are there. In a list, a part may stand for several scalars one after another.
            case written
            case map, list
        }

        /// The first eight bytes of the key, which decide most comparisons.
        var prefix: UInt64 = 0
        var keyStart: UInt32
        var keyEnd: UInt32
        var start: UInt32
        var end: UInt32
        /// The next part of the same container, and the first and last of this one; 0 for none.
        var next: UInt32 = 0
        var first: UInt32 = 0
        var last: UInt32 = 0
        /// Values in a list, keys in a map.
        var count: UInt32 = 0
        /// Maps and lists around this one, and itself.
        var level: UInt8
        var form = Form.open
        /// Not 0: the list is sorted, this many values being one element.
        var valuesEach: UInt8 = 0
        var hasIntegerKeys = false
    }

    /// Takes what is written where nothing may be; there is a failure then.
    static let sink: UInt32 = 0
    static let root: UInt32 = 1

    var writer = WireWriter(capacity: 512)
    var forms = CBORForms()
    private(set) var parts: UnsafeMutablePointer<Part>
    private(set) var partCount = 0
    private var capacity = 32
    private(set) var failure: WireError?
    let depthMax: Int

    init(depthMax: Int) {
        self.depthMax = depthMax
        parts = .allocate(capacity: capacity)
        _ = add(level: 0)
        _ = add(level: 1)
    }

    deinit { parts.deallocate() }
}

// MARK: - Parts

extension CBOREncodeState {
    @inline(__always)
    private var position: UInt32 { UInt32(truncatingIfNeeded: writer.position) }

    @inline(__always)
    private mutating func add(level: UInt8) -> UInt32 {
        if _slowPath(partCount == capacity) { grow() }
        let position = position
        (parts + partCount).initialize(
            to: Part(keyStart: position, keyEnd: position, start: position, end: position, level: level))
        partCount &+= 1
        return UInt32(truncatingIfNeeded: partCount &- 1)
    }

    @inline(never)
    private mutating func grow() {
        let larger = UnsafeMutablePointer<Part>.allocate(capacity: 2 * capacity)
        larger.moveInitialize(from: parts, count: partCount)
        parts.deallocate()
        parts = larger
        capacity *= 2
    }

    /// A new part at the end of a container.
    @inline(__always)
    mutating func add(to container: UInt32) -> UInt32 {
        let part = add(level: parts[Int(container)].level &+ 1)
        let last = parts[Int(container)].last
        if last == 0 { parts[Int(container)].first = part } else { parts[Int(last)].next = part }
        parts[Int(container)].last = part
        parts[Int(container)].count &+= 1
        return part
    }

    /// A new part of a map; its key is written.
    @inline(__always)
    mutating func add(_ key: some CodingKey, to map: UInt32) -> UInt32 {
        let part = add(to: map)
        if _slowPath(parts[Int(map)].hasIntegerKeys), let number = key.intValue {
            number.write(to: &writer)
        } else {
            writer.writeText(key.stringValue)
        }
        endKey(of: part)
        return part
    }

    mutating func add(named name: String, to map: UInt32) -> UInt32 {
        let part = add(to: map)
        writer.writeText(name)
        endKey(of: part)
        return part
    }

    @inline(__always)
    private mutating func endKey(of part: UInt32) {
        let key = parts + Int(part)
        key.pointee.keyEnd = position
        key.pointee.start = position
        let start = writer.base + Int(key.pointee.keyStart)
        let length = Int(position &- key.pointee.keyStart)
        if length >= 8 {
            key.pointee.prefix = UInt64(bigEndian: start.loadUnaligned(as: UInt64.self))
        } else {
            for offset in 0..<length {
                key.pointee.prefix |=
                    UInt64(start.load(fromByteOffset: offset, as: UInt8.self)) << UInt64(56 - 8 * offset)
            }
        }
    }

    /// The part for a scalar in a list: the one before it, if the two are neighbours.
    @inline(__always)
    mutating func addScalar(to list: UInt32) -> UInt32 {
        let last = Int(parts[Int(list)].last)
        guard last == partCount &- 1, parts[last].form == .written, parts[last].end == position,
            parts[Int(list)].valuesEach == 0
        else { return add(to: list) }
        parts[Int(list)].count &+= 1
        return UInt32(truncatingIfNeeded: last)
    }

    /// Says that a part's scalar is about to be written, some time after its key.
    @inline(__always)
    mutating func begin(_ part: UInt32) {
        if _slowPath(parts[Int(part)].form != .open) { return failTwice() }
        parts[Int(part)].start = position
    }

    /// Says that the bytes of a part are there.
    @inline(__always)
    mutating func end(_ part: UInt32) {
        parts[Int(part)].end = position
        parts[Int(part)].form = .written
    }

    /// Makes a part a map or a list, which it may be already.
    /// - Returns: the part, or the sink when it cannot be that.
    mutating func open(_ part: UInt32, as form: Part.Form) -> UInt32 {
        if parts[Int(part)].form == form { return part }
        guard parts[Int(part)].form == .open else {
            failTwice()
            return Self.sink
        }
        parts[Int(part)].form = form
        return checkLevel(of: part) ? part : Self.sink
    }

    @discardableResult
    private mutating func checkLevel(of part: UInt32) -> Bool {
        if Int(parts[Int(part)].level) <= depthMax { return true }
        fail(WireError(.tooDeep, "values are nested more than \(depthMax) levels deep"))
        return false
    }

    private mutating func fail(_ error: WireError) { if failure == nil { failure = error } }

    @inline(never)
    private mutating func failTwice() { fail(WireError(.encodingFailed, "one value is encoded as two")) }
}

// MARK: - Values of any type

extension CBOREncodeState {
    /// Writes a value of any type into a part.
    @inline(__always)
    static func encode<Value: Encodable>(
        _ value: Value, in state: UnsafeMutablePointer<CBOREncodeState>, into part: UInt32
    ) throws {
        if let failure = state.pointee.failure { throw failure }
        switch state.pointee.forms[Value.self] {
        case .scalar(let type):
            state.pointee.begin(part)
            write(value, as: type, in: state)
            state.pointee.end(part)
        case .codable:
            if let collection = (value as? EncodedShape)?.collection as? any CBORUnordered.Type {
                state.pointee.parts[Int(part)].valuesEach = collection.valuesEach
                state.pointee.parts[Int(part)].hasIntegerKeys = collection.hasIntegerKeys
            }
            try value.encode(to: CBOREncoder(state: state, part: part))
        case .list, .link: try encodeSpecial(value, in: state, into: part)
        }
    }

    @inline(never)
    private static func encodeSpecial<Value: Encodable>(
        _ value: Value, in state: UnsafeMutablePointer<CBOREncodeState>, into part: UInt32
    ) throws {
        switch state.pointee.forms[Value.self] {
        case .list(let type):
            state.pointee.checkLevel(of: part)
            state.pointee.begin(part)
            writeList(value, as: type, in: state)
            return state.pointee.end(part)
        case .link:
            guard let link = value as? URL else { break }
            state.pointee.begin(part)
            if state.pointee.writer.writeLink(link) { return state.pointee.end(part) }
        case .codable, .scalar: break
        }
        try value.encode(to: CBOREncoder(state: state, part: part))
    }

    /// - Parameter type: `Value` itself.
    @inline(__always)
    static func write<Value, Scalar: CBORScalar>(
        _ value: Value, as type: Scalar.Type, in state: UnsafeMutablePointer<CBOREncodeState>
    ) {
        withUnsafePointer(to: value) { value in
            UnsafeRawPointer(value).assumingMemoryBound(to: Scalar.self).pointee.write(to: &state.pointee.writer)
        }
    }

    private static func writeList<Value, List: CBORScalarList>(
        _ value: Value, as type: List.Type, in state: UnsafeMutablePointer<CBOREncodeState>
    ) {
        withUnsafePointer(to: value) { value in
            UnsafeRawPointer(value).assumingMemoryBound(to: List.self).pointee.writeList(to: &state.pointee.writer)
        }
    }
}
