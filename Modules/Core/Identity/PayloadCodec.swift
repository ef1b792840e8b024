/// Turns values into bytes and back. The plugin point for codecs.
///
/// To the implementer:
/// - `decode(encode(value))` must equal `value` for every `Codable` value, or `encode` must throw.
/// - Neither may trap or spend memory beyond a small multiple of the input, whatever the bytes: peers are not trusted
///   with that.
/// - Both are called from any thread, several at once.
public protocol PayloadCodec: Sendable {
    /// Names the codec in every frame, so that peers may differ in the codec that they write.
    var id: PayloadCodecID { get }
    func encode<Value: Encodable>(_ value: Value) throws -> [UInt8]
    /// - Parameter bytes: valid during the call only.
    func decode<Value: Decodable>(_ type: Value.Type, from bytes: UnsafeRawBufferPointer) throws -> Value
}

extension PayloadCodec {
    public func decode<Value: Decodable>(_ type: Value.Type, from bytes: [UInt8]) throws -> Value {
        try bytes.withUnsafeBytes { try decode(type, from: $0) }
    }
}

/// A codec's number on the wire and its name for people.
public struct PayloadCodecID: Hashable, Sendable, CustomStringConvertible {
    /// 1–63 are this library's, 64–127 are for public codecs of others, 128–255 for private use; 0 is none.
    public let number: UInt8
    public let name: String

    public init(number: UInt8, name: String) {
        self.number = number
        self.name = name
    }

    public var description: String { name }

    public static func == (left: PayloadCodecID, right: PayloadCodecID) -> Bool { left.number == right.number }
    public func hash(into hasher: inout Hasher) { hasher.combine(number) }
}

/// Bytes and the codec that reads them.
public struct EncodedPayload: Sendable {
    public let bytes: [UInt8]
    public let codec: any PayloadCodec

    public init(bytes: [UInt8], codec: any PayloadCodec) {
        self.bytes = bytes
        self.codec = codec
    }
}
