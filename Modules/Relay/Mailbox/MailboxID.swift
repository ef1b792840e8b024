/// The ID of a mailbox: the 32 bytes of its owner's peer ID, which is the hash of a public key.
package struct MailboxID: Hashable, Comparable, Sendable, CustomStringConvertible {
    /// The number of bytes in an ID.
    package static let byteCount = 32

    private let words: SIMD4<UInt64>

    /// Creates an ID from 32 bytes; nil for another number of bytes.
    package init?(bytes: some Collection<UInt8>) {
        // Other modules call this, and unspecialized generic code would cost a call per byte.
        let id = bytes.withContiguousStorageIfAvailable { MailboxID(UnsafeRawBufferPointer($0)) }
        guard let id = id ?? Array(bytes).withUnsafeBytes({ MailboxID($0) }) else { return nil }
        self = id
    }

    private init?(_ bytes: UnsafeRawBufferPointer) {
        guard bytes.count == Self.byteCount else { return nil }
        var words = SIMD4<UInt64>()
        for index in 0..<4 {
            words[index] = UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 8 * index, as: UInt64.self))
        }
        self.words = words
    }

    /// Creates an ID from 64 hexadecimal digits in lower case; nil for anything else.
    package init?(_ name: some StringProtocol) {
        let digits = Array(name.utf8)
        guard digits.count == 2 * Self.byteCount else { return nil }
        var words = SIMD4<UInt64>()
        for (index, digit) in digits.enumerated() {
            let value: UInt8
            switch digit {
            case UInt8(ascii: "0")...UInt8(ascii: "9"): value = digit - UInt8(ascii: "0")
            case UInt8(ascii: "a")...UInt8(ascii: "f"): value = digit - UInt8(ascii: "a") + 10
            default: return nil
            }
            words[index >> 4] = words[index >> 4] << 4 | UInt64(value)
        }
        self.words = words
    }

    /// The 32 bytes of the ID.
    package var bytes: [UInt8] {
        [UInt8](unsafeUninitializedCapacity: Self.byteCount) { buffer, count in
            for index in 0..<Self.byteCount {
                buffer[index] = UInt8(truncatingIfNeeded: words[index >> 3] >> UInt64(56 - 8 * (index & 7)))
            }
            count = Self.byteCount
        }
    }

    package var description: String {
        String(unsafeUninitializedCapacity: 2 * Self.byteCount) { buffer in
            for index in 0..<2 * Self.byteCount {
                let digit = UInt8(truncatingIfNeeded: words[index >> 4] >> UInt64(60 - 4 * (index & 15))) & 15
                buffer[index] = digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") + digit - 10
            }
            return 2 * Self.byteCount
        }
    }

    package static func < (left: MailboxID, right: MailboxID) -> Bool {
        for index in 0..<4 where left.words[index] != right.words[index] {
            return left.words[index] < right.words[index]
        }
        return false
    }
}
