public import MeshIdentity

#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// The readable codec: Foundation's JSON with sorted keys.
///
/// Nothing is lost: dates are seconds since 2001 with all their digits, infinities and NaN are strings, `Data` is Base64.
/// Equal values give equal bytes as long as no set, and no dictionary with other keys than strings and integers, is in
/// them.
public struct JSONCodec: PayloadCodec {
    /// Number 1, `json`.
    public static let id = PayloadCodecID(number: 1, name: "json")
    public var id: PayloadCodecID { Self.id }

    /// It has no settings.
    public init() {}

    /// - Throws: `EncodingError`, or what the value's `encode(to:)` throws.
    public func encode<Value: Encodable>(_ value: Value) throws -> [UInt8] {
        [UInt8](try Self.encoder.encode(value))
    }

    /// - Throws: `DecodingError`, or what the value's `init(from:)` throws.
    public func decode<Value: Decodable>(_ type: Value.Type, from bytes: UnsafeRawBufferPointer) throws -> Value {
        try Self.decoder.decode(type, from: Data(bytes))
    }

    package static let encoder: JSONEncoder = {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        encoder.nonConformingFloatEncodingStrategy = .convertToString(
            positiveInfinity: infinity, negativeInfinity: "-" + infinity, nan: notANumber)
        return encoder
    }()

    package static let decoder: JSONDecoder = {
        let decoder = JSONDecoder()
        decoder.nonConformingFloatDecodingStrategy = .convertFromString(
            positiveInfinity: infinity, negativeInfinity: "-" + infinity, nan: notANumber)
        return decoder
    }()

    private static let infinity = "Infinity"
    private static let notANumber = "NaN"
}
