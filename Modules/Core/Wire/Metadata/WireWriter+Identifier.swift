import MeshFoundation

package enum WireLimits {
    /// Maximum number of bytes in an identifier. Tables with a maximum count of names are therefore bounded in bytes too.
    package static let identifierBytesMax = 4096
}

/// The forms of an identifier: 16 bytes for a UUID in a canonical spelling, otherwise UTF-8.
enum IdentifierForm {
    static let uppercaseUUID: UInt64 = 0
    static let lowercaseUUID: UInt64 = 1
    /// Added to the length of the UTF-8.
    static let text: UInt64 = 2
}

extension WireWriter {
    /// Writes an identifier: 17 bytes for a UUID in a canonical spelling, otherwise a length and UTF-8.
    mutating func write(identifier: String) {
        var identifier = identifier
        identifier.withUTF8 { utf8 in
            if utf8.count == 36, let (uuid, form) = canonicalUUID(UnsafeRawBufferPointer(utf8)) {
                writeVarint(form)
                reserve(16)
                base.storeBytes(of: uuid.bigEndian.high, toByteOffset: position, as: UInt64.self)
                base.storeBytes(of: uuid.bigEndian.low, toByteOffset: position + 8, as: UInt64.self)
                position &+= 16
            } else {
                writeVarint(UInt64(utf8.count) + IdentifierForm.text)
                writeRaw(UnsafeRawBufferPointer(utf8))
            }
        }
    }
}

extension WireReader {
    mutating func readIdentifier() throws(WireError) -> String {
        let head = try readVarint()
        if head < IdentifierForm.text {
            let bytes = try readRaw(16)
            return uuidText(bytes, digits: head == IdentifierForm.uppercaseUUID ? upperDigits : lowerDigits)
        }
        let length = head - IdentifierForm.text
        guard length <= UInt64(WireLimits.identifierBytesMax) else {
            throw WireError(
                .oversized, "an identifier of \(length) bytes exceeds the limit of \(WireLimits.identifierBytesMax)")
        }
        guard length <= UInt64(remaining) else {
            throw .truncated(needed: Int(clamping: length), remaining: remaining)
        }
        return try String(wire: try readRaw(Int(length)))
    }
}

// MARK: - UUID spelling

private struct UUIDWords {
    var high: UInt64 = 0
    var low: UInt64 = 0

    var bigEndian: UUIDWords { UUIDWords(high: high.bigEndian, low: low.bigEndian) }
}

private let upperDigits: StaticString = "0123456789ABCDEF"
private let lowerDigits: StaticString = "0123456789abcdef"

/// Parses 36 bytes of 8-4-4-4-12 hexadecimal digits in one case. Without letters, the form is upper case.
private func canonicalUUID(_ text: UnsafeRawBufferPointer) -> (UUIDWords, form: UInt64)? {
    var words = UUIDWords()
    var hasUpper = false
    var hasLower = false
    for index in 0..<36 {
        let byte = text[index]
        if index == 8 || index == 13 || index == 18 || index == 23 {
            guard byte == UInt8(ascii: "-") else { return nil }
            continue
        }
        let digit: UInt8
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): digit = byte &- UInt8(ascii: "0")
        case UInt8(ascii: "A")...UInt8(ascii: "F"):
            digit = byte &- UInt8(ascii: "A") &+ 10
            hasUpper = true
        case UInt8(ascii: "a")...UInt8(ascii: "f"):
            digit = byte &- UInt8(ascii: "a") &+ 10
            hasLower = true
        default: return nil
        }
        words.high = words.high << 4 | words.low >> 60
        words.low = words.low << 4 | UInt64(digit)
    }
    guard !(hasUpper && hasLower) else { return nil }
    return (words, hasLower ? IdentifierForm.lowercaseUUID : IdentifierForm.uppercaseUUID)
}

private func uuidText(_ bytes: UnsafeRawBufferPointer, digits: StaticString) -> String {
    String(unsafeUninitializedCapacity: 36) { text in
        var position = 0
        for (index, byte) in bytes.enumerated() {
            if index == 4 || index == 6 || index == 8 || index == 10 {
                text[position] = UInt8(ascii: "-")
                position += 1
            }
            text[position] = digits.utf8Start[Int(byte >> 4)]
            text[position + 1] = digits.utf8Start[Int(byte & 15)]
            position += 2
        }
        return position
    }
}
