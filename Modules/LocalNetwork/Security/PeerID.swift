#if UDP || MQTT || WebSocket
    import Crypto

    #if canImport(FoundationEssentials)
        import FoundationEssentials
    #else
        import Foundation
    #endif

    /// Who a peer is: the SHA-256 of its public key's SubjectPublicKeyInfo (DER). It outlives every certificate.
    public struct PeerID: Hashable, Comparable, Sendable {
        /// Bytes of an id.
        public static let byteCount = 32

        private var words: (UInt64, UInt64, UInt64, UInt64)

        /// - Parameter bytes: 32 of them; nil for any other count.
        public init?(bytes: some Collection<UInt8>) {
            guard bytes.count == Self.byteCount else { return nil }
            var rest = bytes[...]
            func word() -> UInt64 {
                defer { rest = rest.dropFirst(8) }
                return rest.prefix(8).reduce(0) { $0 << 8 | UInt64($1) }
            }
            words = (word(), word(), word(), word())
        }

        /// - Parameter hex: 64 hexadecimal digits, upper or lower case; nil for anything else.
        public init?(_ hex: String) {
            let digits = Array(hex.utf8)
            guard digits.count == 2 * Self.byteCount else { return nil }
            var bytes: [UInt8] = []
            bytes.reserveCapacity(Self.byteCount)
            for index in stride(from: 0, to: digits.count, by: 2) {
                guard let high = Self.value(of: digits[index]), let low = Self.value(of: digits[index + 1]) else {
                    return nil
                }
                bytes.append(high << 4 | low)
            }
            self.init(bytes: bytes)
        }

        /// - Parameter publicKeyDER: a SubjectPublicKeyInfo, as certificates have it.
        public init(publicKeyDER: [UInt8]) {
            let digest = SHA256.hash(data: publicKeyDER)
            words = digest.withUnsafeBytes { bytes in
                func word(_ index: Int) -> UInt64 {
                    UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 8 * index, as: UInt64.self))
                }
                return (word(0), word(1), word(2), word(3))
            }
        }

        /// 32, as they travel.
        public var bytes: [UInt8] {
            [words.0, words.1, words.2, words.3].flatMap { word in
                (0..<8).map { UInt8(truncatingIfNeeded: word >> (56 - 8 * $0)) }
            }
        }

        /// What is said of this peer on the network beside the label of an instance: the first 8 bytes of
        /// SHA-256(id ‖ label). Who knows the peer recognises it; to others it changes with the label. A hint proves
        /// nothing.
        public func hint(instance: String) -> [UInt8] {
            Array(SHA256.hash(data: bytes + Array(instance.utf8)).prefix(8))
        }

        public static func == (left: PeerID, right: PeerID) -> Bool { left.words == right.words }

        /// In the order of the bytes, which is the order of the descriptions.
        public static func < (left: PeerID, right: PeerID) -> Bool { left.words < right.words }

        public func hash(into hasher: inout Hasher) {
            hasher.combine(words.0)
            hasher.combine(words.1)
        }

        private static func value(of digit: UInt8) -> UInt8? {
            switch digit {
            case 0x30...0x39: digit - 0x30
            case 0x41...0x46: digit - 0x41 + 10
            case 0x61...0x66: digit - 0x61 + 10
            default: nil
            }
        }
    }

    extension PeerID: CustomStringConvertible {
        /// 64 hexadecimal digits in lower case; the `id` of a `SessionPeer`.
        public var description: String {
            let digits = Array("0123456789abcdef".utf8)
            return String(
                decoding: bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
        }
    }

    extension PeerID: Codable {
        public init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            guard let id = PeerID(try container.decode(String.self)) else {
                throw DecodingError.dataCorruptedError(
                    in: container, debugDescription: "a peer id is 64 hexadecimal digits")
            }
            self = id
        }

        public func encode(to encoder: any Encoder) throws {
            var container = encoder.singleValueContainer()
            try container.encode(description)
        }
    }
#endif
