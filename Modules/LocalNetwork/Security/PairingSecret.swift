#if UDP || MQTT || WebSocket
    /// A shared secret for one pairing: 128 random bits. One device shows it as text or QR code; the other reads it.
    ///
    /// The text is 28 characters of Crockford's base 32, in groups of four. It ends with a 12-bit checksum (CRC-12).
    /// This detects any single wrong character and any two swapped neighbors, and 4095 of 4096 other errors. Printing
    /// the value doesn't reveal the secret.
    public struct PairingSecret: Sendable, Hashable {
        static let byteCount = 16

        let bytes: [UInt8]

        /// Generates a new secret with the system's random number generator.
        public init() {
            var generator = SystemRandomNumberGenerator()
            bytes = (0..<Self.byteCount).map { _ in UInt8.random(in: 0 ... .max, using: &generator) }
        }

        /// - Parameter bytes: 16 bytes.
        init(bytes: [UInt8]) {
            precondition(bytes.count == Self.byteCount, "a secret has 16 bytes")
            self.bytes = bytes
        }

        /// Reads a secret from its text.
        ///
        /// - Parameter text: The text that the property `text` returns, possibly typed by a person. Case, hyphens and
        ///   spaces don't matter. The letters O, I and L are read as the digits 0, 1 and 1. The result is nil if the
        ///   text is invalid or its checksum is wrong.
        public init?(_ text: String) {
            guard text.utf8.count <= Self.textBytesMax else { return nil }
            var digits: [UInt8] = []
            for character in text.utf8 where character != UInt8(ascii: "-") && character != UInt8(ascii: " ") {
                guard let digit = Self.value(of: character) else { return nil }
                digits.append(digit)
            }
            guard digits.count == Self.digitCount else { return nil }
            // 28 digits of 5 bits hold 16 bytes and the checksum's 12 bits.
            var bytes: [UInt8] = []
            var pending: UInt32 = 0
            var pendingBits = 0
            for digit in digits {
                pending = pending << 5 | UInt32(digit)
                pendingBits += 5
                if pendingBits >= 8, bytes.count < Self.byteCount {
                    pendingBits -= 8
                    bytes.append(UInt8(truncatingIfNeeded: pending >> UInt32(pendingBits)))
                }
            }
            guard UInt16(truncatingIfNeeded: pending) & 0xFFF == Self.checksum(of: bytes) else { return nil }
            self.bytes = bytes
        }

        /// The secret as 34 characters such as `0123-4567-…`. QR codes store digits, capitals and hyphens compactly.
        public var text: String {
            let checksum = Self.checksum(of: bytes)
            var text: [UInt8] = []
            var pending: UInt32 = 0
            var pendingBits = 0
            func append(_ value: UInt32, bits: Int) {
                pending = pending << UInt32(bits) | value
                pendingBits += bits
                while pendingBits >= 5 {
                    pendingBits -= 5
                    if text.count % 5 == 4 { text.append(UInt8(ascii: "-")) }
                    text.append(Self.alphabet[Int(pending >> UInt32(pendingBits)) & 31])
                }
            }
            for byte in bytes { append(UInt32(byte), bits: 8) }
            append(UInt32(checksum), bits: 12)
            return String(decoding: text, as: UTF8.self)
        }
    }

    extension PairingSecret: CustomStringConvertible, CustomReflectable {
        public var description: String { "PairingSecret" }
        public var customMirror: Mirror { Mirror(self, children: [:]) }
    }

    extension PairingSecret {
        private static let digitCount = 28
        private static let textBytesMax = 128
        /// Crockford's alphabet, which lacks I, L, O and U: https://www.crockford.com/base32.html
        private static let alphabet = Array("0123456789ABCDEFGHJKMNPQRSTVWXYZ".utf8)

        private static func value(of character: UInt8) -> UInt8? {
            let isLower = (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(character)
            switch isLower ? character - 0x20 : character {
            case UInt8(ascii: "O"): return 0
            case UInt8(ascii: "I"), UInt8(ascii: "L"): return 1
            case let capital: return alphabet.firstIndex(of: capital).map { UInt8($0) }
            }
        }

        /// Returns the CRC-12 with the polynomial x^12 + x^11 + x^3 + x^2 + x + 1. It detects every error that spans at
        /// most 12 bits: one wrong character, or two swapped neighbors. Its initial value is all ones, so a text of
        /// zeros is invalid.
        private static func checksum(of bytes: [UInt8]) -> UInt16 {
            bytes.reduce(0xFFF) { checksum, byte in
                (0..<8).reduce(checksum ^ UInt16(byte) << 4) { checksum, _ in
                    checksum & 0x800 == 0 ? checksum << 1 : (checksum << 1 ^ 0x80F) & 0xFFF
                }
            }
        }
    }
#endif
