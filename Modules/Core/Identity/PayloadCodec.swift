/// A codec, which turns values into bytes and back. The plugin point for codecs.
///
/// To the implementer:
/// - `decode(encode(value))` must equal `value` for every `Codable` value, or `encode` must throw.
/// - For any input, neither method may trap or use more memory than a small multiple of the input: peers aren't
///   trusted.
/// - Any thread may call either method, and several threads at once.
public protocol PayloadCodec: Sendable {
    /// The codec's ID, which is in every frame, so that peers may use different codecs.
    var id: PayloadCodecID { get }
    /// Returns the bytes of one value, without a frame around them.
    ///
    /// - Throws: the codec's error if the value can't be encoded.
    func encode<Value: Encodable>(_ value: Value) throws -> [UInt8]
    /// Decodes a value from bytes that a peer may have sent.
    ///
    /// - Parameter bytes: valid during the call only.
    func decode<Value: Decodable>(_ type: Value.Type, from bytes: UnsafeRawBufferPointer) throws -> Value
}

extension PayloadCodec {
    /// Decodes a value from an array of bytes that a peer may have sent.
    public func decode<Value: Decodable>(_ type: Value.Type, from bytes: [UInt8]) throws -> Value {
        try bytes.withUnsafeBytes { try decode(type, from: $0) }
    }
}

/// A codec's number on the wire and its readable name.
public struct PayloadCodecID: Hashable, Sendable, CustomStringConvertible {
    /// The codec's number on the wire: 1–63 for this library, 64–127 for public codecs of others, 128–255 for private
    /// use. 0 means no codec.
    public let number: UInt8
    /// The codec's name in tables and messages, such as `compact`.
    public let name: String

    /// Creates the ID of a codec. Use a number from 1 on: 0 means no codec, and a reader refuses to register a
    /// ``PayloadCodec`` with it.
    public init(number: UInt8, name: String) {
        self.number = number
        self.name = name
    }

    public var description: String { name }

    public static func == (left: PayloadCodecID, right: PayloadCodecID) -> Bool { left.number == right.number }
    public func hash(into hasher: inout Hasher) { hasher.combine(number) }
}

/// Encoded bytes, with the codec that reads them.
public struct EncodedPayload: Sendable {
    /// The bytes of the encoded value.
    public let bytes: [UInt8]
    /// The codec that decodes the bytes.
    public let codec: any PayloadCodec

    /// Creates a payload without checking it. The bytes are decoded when a caller asks for the value.
    public init(bytes: [UInt8], codec: any PayloadCodec) {
        self.bytes = bytes
        self.codec = codec
    }
}
