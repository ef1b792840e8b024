import MeshIdentity

extension CompactCodec {
    /// Digest of a value's canonical encoding, equal on every device, system and launch.
    ///
    /// - Returns: nil if the value can't be encoded, or if its decoded copy encodes differently: a type that lists a set in
    ///   memory order has another digest on each device, so a digest of it says nothing.
    package static func canonicalDigest<Value: Codable>(of value: Value) -> UInt64? {
        // Through Codable: conformances to `WireCodable` may come and go with versions of an app.
        let codec = CompactCodec(mode: .deterministic, usesDirectPath: false)
        guard let bytes = try? codec.encode(value), let copy = try? codec.decode(Value.self, from: bytes),
            let again = try? codec.encode(copy), again == bytes
        else { return nil }
        return StableHash(bytes).low
    }

    /// The copy that other devices decode from a value's bytes.
    package func decodedCopy<Value: Codable>(of value: Value) throws -> Value {
        try decode(Value.self, from: encode(value))
    }
}
