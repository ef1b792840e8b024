#if UDP || MQTT || WebSocket
    import Crypto

    import MeshFoundation

    /// The identity of a peer: the SHA-256 of its public key's SubjectPublicKeyInfo (DER). It stays the same when the
    /// certificate changes.
    public struct PeerID: Hashable, Comparable, Sendable {
        /// The number of bytes in an ID.
        public static let byteCount = 32

        private var words: (UInt64, UInt64, UInt64, UInt64)

        /// Creates an ID from its bytes.
        ///
        /// - Parameter bytes: 32 bytes. For any other number the result is nil.
        public init?(bytes: some Collection<UInt8>) {
            // Other modules call this, and unspecialized generic code would cost a call per byte.
            let id = bytes.withContiguousStorageIfAvailable { PeerID(UnsafeRawBufferPointer($0)) }
            guard let id = id ?? Array(bytes).withUnsafeBytes({ PeerID($0) }) else { return nil }
            self = id
        }

        private init?(_ bytes: UnsafeRawBufferPointer) {
            guard bytes.count == Self.byteCount else { return nil }
            func word(_ index: Int) -> UInt64 {
                UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 8 * index, as: UInt64.self))
            }
            words = (word(0), word(1), word(2), word(3))
        }

        /// Creates an ID from hexadecimal digits.
        ///
        /// - Parameter hex: 64 hexadecimal digits, upper or lower case. For anything else the result is nil.
        public init?(_ hex: String) { self.init(digits: hex.utf8) }

        /// - Parameter digits: 64 hexadecimal digits in ASCII, upper or lower case. For anything else the result is
        ///   nil.
        package init?(digits: some Collection<UInt8>) {
            let id = digits.withContiguousStorageIfAvailable { PeerID(digits: $0) }
            guard let id = id ?? Array(digits).withUnsafeBufferPointer({ PeerID(digits: $0) }) else { return nil }
            self = id
        }

        private init?(digits: UnsafeBufferPointer<UInt8>) {
            guard digits.count == 2 * Self.byteCount else { return nil }
            func word(_ index: Int) -> UInt64? {
                var word: UInt64 = 0
                for digit in digits[16 * index..<16 * index + 16] {
                    guard let value = Self.value(of: digit) else { return nil }
                    word = word << 4 | UInt64(value)
                }
                return word
            }
            guard let first = word(0), let second = word(1), let third = word(2), let fourth = word(3) else {
                return nil
            }
            words = (first, second, third, fourth)
        }

        /// Computes the ID of a public key.
        ///
        /// - Parameter publicKeyDER: The SubjectPublicKeyInfo in DER, as in a certificate.
        public init(publicKeyDER: [UInt8]) {
            let digest = SHA256.hash(data: publicKeyDER)
            words = digest.withUnsafeBytes { bytes in
                func word(_ index: Int) -> UInt64 {
                    UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 8 * index, as: UInt64.self))
                }
                return (word(0), word(1), word(2), word(3))
            }
        }

        /// The 32 bytes of the ID, as sent on the wire.
        public var bytes: [UInt8] {
            withUnsafeBytes(
                of: (words.0.bigEndian, words.1.bigEndian, words.2.bigEndian, words.3.bigEndian)
            ) { Array($0) }
        }

        /// Returns the hint that this peer announces on the network together with an instance label: the first 8 bytes
        /// of SHA-256(ID ‖ label). Devices that know the peer recognize it. For other devices the hint changes with the
        /// label. It proves nothing.
        public func hint(instance: String) -> [UInt8] {
            Array(SHA256.hash(data: bytes + Array(instance.utf8)).prefix(8))
        }

        public static func == (left: PeerID, right: PeerID) -> Bool { left.words == right.words }

        /// Orders IDs by their bytes, which is also the order of their descriptions.
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
        /// The 64 hexadecimal digits in lower case; the `id` of a `SessionPeer`.
        public var description: String {
            // Fast, because each message needs it twice for topic names.
            String(unsafeUninitializedCapacity: 2 * Self.byteCount) { buffer in
                var index = 0
                for word in [words.0, words.1, words.2, words.3] {
                    for shift in stride(from: UInt64(60), through: 0, by: -4) {
                        let digit = UInt8(truncatingIfNeeded: word >> shift) & 15
                        buffer[index] = digit < 10 ? 0x30 + digit : 0x61 + digit - 10
                        index += 1
                    }
                }
                return index
            }
        }
    }

    extension PeerID: Codable {
        public init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            guard let id = PeerID(try container.decode(String.self)) else {
                throw DecodingError.dataCorruptedError(
                    in: container, debugDescription: "a peer ID has 64 hexadecimal digits")
            }
            self = id
        }

        public func encode(to encoder: any Encoder) throws {
            var container = encoder.singleValueContainer()
            try container.encode(description)
        }
    }
#endif
