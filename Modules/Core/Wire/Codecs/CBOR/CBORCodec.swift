public import MeshIdentity

/// RFC 8949: for exchange with other systems, which have libraries for it in every language.
///
/// Writes the deterministic encoding of section 4.2.1, so equal values give equal bytes: shortest integers, shortest
/// floating-point numbers that keep every bit, definite lengths, map keys in the order of their bytes, sets in the order
/// of their elements' bytes. Reads any well-formed CBOR, deterministic or not; unknown tags are skipped. What is written
/// for each Swift type is in Docs/WireFormat.md. `encode` refuses an optional that holds nil, which CBOR's one null can't
/// tell from nil.
///
/// A message is checked as a whole, and its values are located, before any of it is decoded. That takes 8 bytes of memory
/// a value, 16 a map, for the time of the call.
public struct CBORCodec: PayloadCodec {
    /// Number 3, `cbor`.
    public static let id = PayloadCodecID(number: 3, name: "cbor")
    public var id: PayloadCodecID { Self.id }

    /// Levels of maps and arrays that are written and read; beyond it both throw `WireError.Code.tooDeep`.
    public let depthMax: Int

    /// - Parameter depthMax: 1 to 128; the limit keeps hostile input from exhausting the stack.
    public init(depthMax: Int = 32) {
        precondition((1...128).contains(depthMax), "a depth of 1 to 128 levels")
        self.depthMax = depthMax
    }

    /// - Throws: `WireError` (`tooDeep`, `oversized` from 4 GiB, `encodingFailed` with the path of a value that can't be
    ///   kept), or what the value's `encode(to:)` throws.
    public func encode<Value: Encodable>(_ value: Value) throws -> [UInt8] {
        let rules = EncodedShape.Rules(
            depthMax: 8 * depthMax, isValue: { CBORForms.isValue($0) }, keepsNestedNil: false)
        let shape = try EncodedShape.make(value, rules)
        let state = UnsafeMutablePointer<CBOREncodeState>.allocate(capacity: 1)
        state.initialize(to: CBOREncodeState(depthMax: depthMax))
        defer {
            state.deinitialize(count: 1)
            state.deallocate()
        }
        try CBOREncodeState.encode(shape, in: state, into: CBOREncodeState.root)
        return try state.pointee.assemble()
    }

    /// - Throws: `WireError`, or what the value's `init(from:)` throws.
    public func decode<Value: Decodable>(_ type: Value.Type, from bytes: UnsafeRawBufferPointer) throws -> Value {
        let index = try CBORIndex.make(bytes, depthMax: depthMax)
        let state = UnsafeMutablePointer<CBORDecodeState>.allocate(capacity: 1)
        state.initialize(to: CBORDecodeState(index: index))
        defer {
            state.deinitialize(count: 1)
            state.deallocate()
        }
        return try CBORDecodeState.decode(type, at: CBORIndex.root, in: state)
    }
}
