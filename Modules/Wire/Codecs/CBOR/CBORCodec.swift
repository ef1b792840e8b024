public import MeshIdentity

/// CBOR in its deterministic form, for peers in other languages. Source: RFC 8949 section 4.2.
///
/// Records are maps with text keys, `Data` is a byte string, a UUID is tag 37, integers beyond 64 bits are bignums (tags
/// 2 and 3), a date is the number of seconds since 2001 so that nothing is lost. A nil inside an optional reads as nil.
public struct CBORCodec: PayloadCodec {
    public static let id = PayloadCodecID(number: 3, name: "cbor")
    public var id: PayloadCodecID { Self.id }

    /// Levels of arrays, maps and tags that are read and written; beyond it both throw `WireError.Code.tooDeep`.
    public let depthMax: Int

    /// - Parameter depthMax: 1 to 128.
    public init(depthMax: Int = 32) {
        precondition((1...128).contains(depthMax), "a depth of 1 to 128 levels")
        self.depthMax = depthMax
    }

    /// - Throws: `WireError`, or what the value's `encode(to:)` throws.
    public func encode<Value: Encodable>(_ value: Value) throws -> [UInt8] {
        let node = CBORNode(depth: 0, depthMax: depthMax)
        try node.encode(value)
        return try node.value().encoded()
    }

    /// - Throws: `WireError`, or what the value's `init(from:)` throws.
    public func decode<Value: Decodable>(_ type: Value.Type, from bytes: UnsafeRawBufferPointer) throws -> Value {
        var reader = CBORReader(bytes, depthMax: depthMax)
        return try CBORDecoder(value: try reader.readMessage(), codingPath: []).decode(type)
    }
}
