import MeshIdentity

extension CompactCodec {
    /// Digest of a value's canonical encoding, equal on every device, system and launch.
    ///
    /// - Returns: nil if the value can't be encoded, or if its decoded copy encodes differently. A type that encodes a
    ///   set in memory order, for example, would have a different digest on each device.
    package static func canonicalDigest<Value: Codable>(of value: Value) -> UInt64? {
        // Uses Codable: a version of an app may add or remove a conformance to `WireCodable`.
        let codec = CompactCodec(mode: .deterministic, usesDirectPath: false)
        guard let bytes = try? codec.encode(value), let copy = try? codec.decode(Value.self, from: bytes),
            let again = try? codec.encode(copy), again == bytes
        else { return nil }
        return StableHash(bytes).low
    }

    /// Returns the copy that other devices decode from a value's bytes.
    package func decodedCopy<Value: Codable>(of value: Value) throws -> Value {
        try decode(Value.self, from: encode(value))
    }
}
