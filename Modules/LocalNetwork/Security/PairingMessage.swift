#if UDP || MQTT || WebSocket
    /// A message of a pairing. It begins with version, method, sender's role and kind, one byte each; the body depends
    /// on the kind. Docs/Internals/SecuritySpecification.md lists the bytes.
    struct PairingMessage: Equatable {
        enum Kind: UInt8 {
            case opening = 1
            case answer, reveal, agreement, refusal
        }

        static let version: UInt8 = 1
        static let headerByteCount = 4
        static let fieldByteCount = 32
        /// Maximum size of a message in bytes: an answer with a proof.
        static let bytesMax = headerByteCount + 2 * fieldByteCount + 1 + DeviceName.bytesMax

        var method: UInt8
        var role: PairingExchange.Role
        var kind: Kind
        /// A nonce, commitment, proof or agreement of 32 bytes; empty in a refusal.
        var field: [UInt8] = []
        /// The sender's name in openings and answers: UTF-8, at most 64 bytes.
        var name: [UInt8] = []
        /// The responder's proof, in answers of the method `secret`.
        var proof: [UInt8] = []

        var bytes: [UInt8] {
            var bytes = [Self.version, method, role.rawValue, kind.rawValue] + field
            if kind == .opening || kind == .answer { bytes += [UInt8(name.count)] + name }
            return bytes + proof
        }
    }

    extension PairingMessage {
        /// - Throws: `oversized`, `unsupportedVersion`, `malformed`.
        init(_ bytes: [UInt8]) throws(PairingError) {
            guard bytes.count <= Self.bytesMax else { throw .oversized }
            guard let version = bytes.first else { throw .malformed }
            guard version == Self.version else { throw .unsupportedVersion }
            guard bytes.count >= Self.headerByteCount, let role = PairingExchange.Role(rawValue: bytes[2]),
                let kind = Kind(rawValue: bytes[3])
            else { throw .malformed }
            self.init(method: bytes[1], role: role, kind: kind)
            var rest = bytes[Self.headerByteCount...]
            if kind != .refusal { field = try Self.take(Self.fieldByteCount, from: &rest) }
            if kind == .opening || kind == .answer {
                let count = try Self.take(1, from: &rest)[0]
                guard count <= DeviceName.bytesMax else { throw .malformed }
                name = try Self.take(Int(count), from: &rest)
                guard String(validating: name, as: UTF8.self) != nil else { throw .malformed }
            }
            if kind == .answer, method == PairingExchange.Method.secretNumber {
                proof = try Self.take(Self.fieldByteCount, from: &rest)
            }
            guard rest.isEmpty else { throw .malformed }
        }

        private static func take(_ count: Int, from rest: inout ArraySlice<UInt8>) throws(PairingError) -> [UInt8] {
            guard rest.count >= count else { throw .malformed }
            defer { rest = rest.dropFirst(count) }
            return Array(rest.prefix(count))
        }
    }
#endif
