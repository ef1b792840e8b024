public import MeshIdentity

// The compact format. A message is one value: a kind byte and content. A record holds fields, and each field begins with
// a head, which is its number and kind. There are two paths:
// - direct (`WireCodable`): the fields of a record have fixed numbers.
// - Codable: fields have names. A message defines each name once and then refers to it by number.
// Strings of 3 bytes or more are numbered too, and repeated ones are references. A block is a list of values of one type,
// without a kind for each. Bytes, limits and examples: Docs/Internals/WireFormat.md, "compact".

/// This library's own format: small, fast, lossless, and readable by older and newer versions of an app.
///
/// Types that conform to `WireCodable` take the direct path: numbered fields, without Codable. All others go through
/// Codable: named fields, with each name written once per message. A reader accepts both.
public struct CompactCodec: PayloadCodec {
    /// A choice between speed and equal bytes for equal values.
    public enum Mode: Hashable, Sendable {
        /// Writes sets and dictionaries in their order in memory.
        case fast
        /// Writes equal values as equal bytes: sets and dictionaries are sorted.
        case deterministic
    }

    /// The codec's number and name in frames: 2, `compact`.
    public static let id = PayloadCodecID(number: 2, name: "compact")
    public var id: PayloadCodecID { Self.id }

    /// The mode of this codec.
    public let mode: Mode
    /// Maximum number of nested records and lists. Beyond it, `encode` and `decode` throw `WireError.Code.tooDeep`.
    public let depthMax: Int
    /// True if the codec uses conformances to `WireCodable`.
    public let usesDirectPath: Bool
    /// True if the field names of a Codable message come before its value, instead of at their first use. A
    /// `FrameEncoder` that interns names can then replace them by numbers. It always uses this form for payloads that
    /// it encodes itself. Readers accept both forms.
    public let namesFirst: Bool

    /// Creates a codec with these options. Every `CompactCodec` can read its output, whatever the options.
    ///
    /// - Parameters:
    ///   - depthMax: 1 to 128; the limit keeps hostile input from exhausting the stack.
    ///   - usesDirectPath: false writes everything through Codable, for peers whose types aren't `WireCodable`.
    ///   - namesFirst: true for payloads that are encoded before a connection's `FrameEncoder` gets them.
    @inlinable
    public init(mode: Mode = .fast, depthMax: Int = 32, usesDirectPath: Bool = true, namesFirst: Bool = false) {
        precondition((1...128).contains(depthMax), "depthMax must be 1 to 128")
        self.mode = mode
        self.depthMax = depthMax
        self.usesDirectPath = usesDirectPath
        self.namesFirst = namesFirst
    }

    /// A copy of this codec with `namesFirst` set.
    var withNamesFirst: CompactCodec {
        CompactCodec(mode: mode, depthMax: depthMax, usesDirectPath: usesDirectPath, namesFirst: true)
    }

    /// Encodes a value, through `WireCodable` if its type conforms, otherwise through `Codable`.
    ///
    /// - Throws: `WireError` (`tooDeep`, `encodingFailed`), or the errors of the value's `encode(to:)`.
    public func encode<Value: Encodable>(_ value: Value) throws -> [UInt8] {
        if let bytes = try encodeRegular(value) { return bytes }
        let usesDirectPath = usesDirectPath
        var rules = EncodedShape.Rules(
            depthMax: 8 * depthMax,
            isValue: { EncodedShape.isStandard($0) || usesDirectPath && $0 is any WireValue.Type })
        if mode == .deterministic { rules.order = { try encode($0) } }
        guard let bytes = try encodeRegular(try EncodedShape.make(value, rules), namesAreUnique: true) else {
            throw WireError(.encodingFailed, "encode(to:) uses its containers in an unsupported order")
        }
        return bytes
    }

    /// - Parameter namesAreUnique: true if no record repeats a name, so that none is taken for a repetition.
    /// - Returns: nil if the value uses its containers in a way that only an `EncodedShape` supports.
    private func encodeRegular<Value: Encodable>(_ value: Value, namesAreUnique: Bool = false) throws -> [UInt8]? {
        try CoderScratch.withScratch { scratch in
            scratch.pointee.writer.reset(mode: mode, depthMax: depthMax)
            if case .direct(let type) = scratch.pointee.strategy(for: Value.self, usesDirectPath) {
                scratch.pointee.writer.writeDirect(value, type, as: .element)
                if let failure = scratch.pointee.writer.failure { throw failure }
                return scratch.pointee.writer.bytes.array()
            }
            scratch.pointee.encodingKeys.removeAll()
            scratch.pointee.writer.putsNamesFirst = namesFirst
            var state = EncodeState(
                writer: &scratch.pointee.writer, scratch: scratch, usesDirectPath: usesDirectPath,
                namesAreUnique: namesAreUnique)
            return try withUnsafeMutablePointer(to: &state) { state in
                do {
                    try EncodeState.encode(value, in: state, as: .element)
                } catch {
                    if let failure = state.pointee.writer.failure { throw failure }
                    if state.pointee.isIrregular { return nil }
                    throw error
                }
                return state.pointee.isIrregular ? nil : try state.pointee.finish()
            }
        }
    }

    public func decode<Value: Decodable>(_ type: Value.Type, from bytes: UnsafeRawBufferPointer) throws -> Value {
        try CoderScratch.withScratch { scratch in
            var reader = try CompactReader(bytes, depthMax: depthMax)
            if case .direct(let type) = scratch.pointee.strategy(for: Value.self, usesDirectPath) {
                reader.borrowTables(of: scratch)
                defer { reader.borrowTables(of: scratch) }
                let value: Value = try reader.readDirect(type, try reader.readFirstKind())
                try reader.checkEnd()
                return value
            }
            scratch.pointee.decodingKeys.removeAll()
            var state = DecodeState(
                reader: reader, scratch: scratch, usesDirectPath: usesDirectPath)
            return try withUnsafeMutablePointer(to: &state) { state in
                state.pointee.reader.borrowTables(of: scratch)
                defer { state.pointee.reader.borrowTables(of: scratch) }
                let kind = try state.pointee.reader.readFirstKind()
                let value = try DecodeState.decode(type, kind, in: state)
                try state.pointee.reader.checkEnd()
                return value
            }
        }
    }
}

// MARK: - The direct path

extension CompactCodec {
    /// Encodes a value on the direct path. Saves the lookup of the conformance that `encode(_:)` needs.
    /// - Throws: `tooDeep`; `encodingFailed` if two keys of a dictionary have one name.
    @inlinable
    public func encode<Value: WireValue>(direct value: Value) throws(WireError) -> [UInt8] {
        try withWriter { value.write(to: &$0, as: .element) }
    }

    /// Decodes a value on the direct path. Saves the lookup of the conformance that `decode(_:from:)` needs.
    /// - Throws: `WireError`.
    @inlinable
    public func decode<Value: WireValue>(
        direct type: Value.Type, from bytes: UnsafeRawBufferPointer
    ) throws(WireError) -> Value {
        var reader = try CompactReader(bytes, depthMax: depthMax)
        let value = try Value(wire: try reader.readFirstKind(), from: &reader)
        try reader.checkEnd()
        return value
    }

    @usableFromInline
    func withWriter(_ body: (inout CompactWriter) -> Void) throws(WireError) -> [UInt8] {
        try CoderScratch.withScratch { scratch throws(WireError) in
            scratch.pointee.writer.reset(mode: mode, depthMax: depthMax)
            body(&scratch.pointee.writer)
            if let failure = scratch.pointee.writer.failure { throw failure }
            return scratch.pointee.writer.bytes.array()
        }
    }
}

extension CompactReader {
    /// Swaps this reader's tables with the thread's, which already have memory.
    fileprivate mutating func borrowTables(of scratch: UnsafeMutablePointer<CoderScratch>) {
        removeTexts()
        swap(&names, &scratch.pointee.names)
        swap(&strings, &scratch.pointee.strings)
    }
}
