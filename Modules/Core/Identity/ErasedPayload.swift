import MeshFoundation

/// A payload whose type only the feature knows: the value itself, or its bytes as they came from a peer.
///
/// The transport encodes it, because only the transport knows the codec. A transport inside one process doesn't encode.
struct ErasedPayload: Sendable {
    private enum Form {
        case value(any Codable & Sendable, encoded: EncodedPayload?)
        case encoded(EncodedPayload)
    }

    private let form: Form

    /// - Parameter encoded: the value's bytes in one codec.
    init(_ value: some Codable & Sendable, encoded: EncodedPayload? = nil) { form = .value(value, encoded: encoded) }
    init(_ payload: EncodedPayload) { form = .encoded(payload) }

    /// The number of bytes, if the payload arrived encoded; otherwise nil.
    var encodedByteCount: Int? {
        guard case .encoded(let payload) = form else { return nil }
        return payload.bytes.count
    }

    /// - Throws: `SessionSyncError.payloadEncodingFailed`.
    func encoded(with codec: any PayloadCodec, type payloadType: String) throws -> EncodedPayload {
        switch form {
        case .encoded(let payload): return payload
        case .value(_, let payload?) where payload.codec.id == codec.id: return payload
        case .value(let value, _):
            do {
                return EncodedPayload(bytes: try codec.encode(value), codec: codec)
            } catch {
                throw SessionSyncError.payloadEncodingFailed(payloadType: payloadType, description: "\(error)")
            }
        }
    }

    /// - Throws: `SessionSyncError.payloadDecodingFailed`.
    func decoded<Value: Codable & Sendable>(as type: Value.Type, type payloadType: String) throws -> Value {
        do {
            switch form {
            case .encoded(let payload):
                return try payload.codec.decode(Value.self, from: payload.bytes)
            case .value(let value, _):
                if let value = value as? Value { return value }
                // Converts the value to another type with the same fields, as sending it would.
                return try JSONDecoder().decode(Value.self, from: JSONEncoder().encode(value))
            }
        } catch {
            throw SessionSyncError.payloadDecodingFailed(payloadType: payloadType, description: "\(error)")
        }
    }
}
