public import MeshIdentity

/// This library's own format: small, fast, lossless, and readable by older and newer versions of an app.
///
/// Types that conform to `WireCodable` take the direct path: fields by number, no Codable. All others go through
/// Codable: fields by name, each name once a message. A reader accepts both. See Docs/Internals/WireFormat.md for the bytes.
public struct CompactCodec: PayloadCodec {
    /// Whether equal values have to give equal bytes.
    public enum Mode: Hashable, Sendable {
        /// Sets and dictionaries in the order in which they lie in memory.
        case fast
        /// Equal values give equal bytes: sets and dictionaries are sorted.
        case deterministic
    }

    /// The codec's number and name in frames: 2, `compact`.
    public static let id = PayloadCodecID(number: 2, name: "compact")
    public var id: PayloadCodecID { Self.id }

    /// Whether equal values give equal bytes.
    public let mode: Mode
    /// Levels of records and lists that are written and read; beyond it both throw `WireError.Code.tooDeep`.
    public let depthMax: Int
    /// Whether conformances to `WireCodable` are used.
    public let usesDirectPath: Bool
    /// Whether the names of a message that goes through Codable lie in front of its value, instead of each where it is
    /// used first. There a `FrameEncoder` that interns finds them and sends their numbers instead; what it encodes
    /// itself it encodes so. Readers take both.
    public let namesFirst: Bool

    /// Creates a codec whose output can be read by every `CompactCodec`, whatever its options.
    ///
    /// - Parameters:
    ///   - depthMax: 1 to 128; the limit keeps hostile input from exhausting the stack.
    ///   - usesDirectPath: false writes everything through Codable, for peers that know the types by name only.
    ///   - namesFirst: true for payloads that are encoded before they are handed to a connection's `FrameEncoder`.
    @inlinable
    public init(mode: Mode = .fast, depthMax: Int = 32, usesDirectPath: Bool = true, namesFirst: Bool = false) {
        precondition((1...128).contains(depthMax), "a depth of 1 to 128 levels")
        self.mode = mode
        self.depthMax = depthMax
        self.usesDirectPath = usesDirectPath
        self.namesFirst = namesFirst
    }

    /// The same codec, putting names first.
    var namingFirst: CompactCodec {
        CompactCodec(mode: mode, depthMax: depthMax, usesDirectPath: usesDirectPath, namesFirst: true)
    }

    /// Encodes a value, through `WireCodable` where the type has it and else through `Codable`.
    ///
    /// - Throws: `WireError` (`tooDeep`, `encodingFailed`), or what the value's `encode(to:)` throws.
    public func encode<Value: Encodable>(_ value: Value) throws -> [UInt8] {
        if let bytes = try encodeRegular(value) { return bytes }
        let usesDirectPath = usesDirectPath
        var rules = EncodedShape.Rules(
            depthMax: 8 * depthMax,
            isValue: { EncodedShape.isStandard($0) || usesDirectPath && $0 is any WireValue.Type })
        if mode == .deterministic { rules.order = { try encode($0) } }
        guard let bytes = try encodeRegular(try EncodedShape.make(value, rules)) else {
            throw WireError(.encodingFailed, "containers are used out of order")
        }
        return bytes
    }

    /// - Returns: nil if the containers are used in a way that only an `EncodedShape` follows.
    private func encodeRegular<Value: Encodable>(_ value: Value) throws -> [UInt8]? {
        try CoderScratch.withScratch { scratch in
            scratch.pointee.writer.reset(mode: mode, depthMax: depthMax)
            if case .direct(let type) = scratch.pointee.classify(Value.self, usesDirectPath) {
                scratch.pointee.writer.writeDirect(value, type, as: .element)
                if let failure = scratch.pointee.writer.failure { throw failure }
                return scratch.pointee.writer.bytes.array()
            }
            scratch.pointee.encodingKeys.removeAll()
            scratch.pointee.writer.namesLieFirst = namesFirst
            var state = EncodeState(
                writer: &scratch.pointee.writer, scratch: scratch, usesDirectPath: usesDirectPath)
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
            if case .direct(let type) = scratch.pointee.classify(Value.self, usesDirectPath) {
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
    /// Writes a value of the direct path, without looking for the conformance.
    /// - Throws: `tooDeep`.
    @inlinable
    public func encode<Value: WireValue>(direct value: Value) throws(WireError) -> [UInt8] {
        try withWriter { value.write(to: &$0, as: .element) }
    }

    /// Reads a value of the direct path, without looking for the conformance.
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
    /// Exchanges the tables for the thread's, which have memory already.
    fileprivate mutating func borrowTables(of scratch: UnsafeMutablePointer<CoderScratch>) {
        forgetTexts()
        swap(&names, &scratch.pointee.names)
        swap(&strings, &scratch.pointee.strings)
    }
}
