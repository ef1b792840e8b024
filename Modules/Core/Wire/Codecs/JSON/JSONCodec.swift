package import MeshFoundation
public import MeshIdentity

/// The readable codec: Foundation's JSON with sorted keys.
///
/// Dates are seconds since 2001 with all their digits, infinities and NaN are strings, and `Data` is Base64.
///
/// `encode` throws for values that Foundation's JSON would lose: `Decimal.nan`, a URL with a base, an optional that
/// holds nil, and a dictionary in which two keys have the same name. It also throws if a type encodes two values where
/// one is expected.
///
/// Equal values give equal bytes, unless they contain a set, or a dictionary whose keys aren't strings or integers.
public struct JSONCodec: PayloadCodec {
    /// The codec's number and name in frames: 1, `json`.
    public static let id = PayloadCodecID(number: 1, name: "json")
    public var id: PayloadCodecID { Self.id }

    /// Creates the codec, which has no settings.
    public init() {}

    /// Encodes a value as JSON that decodes to an equal value.
    ///
    /// - Throws: `WireError` (`encodingFailed` for a value that JSON can't keep, with its path; `tooDeep`),
    ///   `EncodingError`, or the errors of the value's `encode(to:)`.
    public func encode<Value: Encodable>(_ value: Value) throws -> [UInt8] {
        [UInt8](try Self.encoder.encode(try EncodedShape.make(value, Self.rules)))
    }

    /// Decodes a value from JSON.
    ///
    /// - Throws: `DecodingError`, or the errors of the value's `init(from:)`.
    public func decode<Value: Decodable>(_ type: Value.Type, from bytes: UnsafeRawBufferPointer) throws -> Value {
        try Self.decoder.decode(type, from: Data(bytes))
    }

    /// Foundation itself throws beyond 511 nested records and lists. 1024 leaves levels for optionals and wrappers.
    private static let rules = EncodedShape.Rules(
        depthMax: 1024, isValue: { EncodedShape.isStandard($0) && !($0 is any CodableContainer.Type) },
        check: { value throws(WireError) in
            if let number = value as? Decimal, number.isNaN { throw unsupported("a Decimal that is not a number") }
            if let link = value as? URL, link.baseURL != nil { throw unsupported("the base of the URL '\(link)'") }
        }, keepsNestedNil: false)

    private static func unsupported(_ value: String) -> WireError {
        WireError(.encodingFailed, "JSON can't keep \(value)")
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

/// A standard type that Foundation writes as an array or object. It may contain a value that JSON loses.
private protocol CodableContainer {}
extension Optional: CodableContainer {}
extension Array: CodableContainer {}
extension ContiguousArray: CodableContainer {}
extension Set: CodableContainer {}
extension Dictionary: CodableContainer {}
