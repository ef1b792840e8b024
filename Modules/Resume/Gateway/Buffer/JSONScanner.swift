import Foundation

/// Reads through JSON (RFC 8259) without building values, so that an app's payload can be checked, or cut out of a larger text,
/// byte by byte. O(bytes), without allocations.
///
/// Accepts what Foundation's parsers accept, because clients use them. So a text is refused if it is nested more deeply than
/// `depthMax`, if an escaped surrogate has no partner, or if a number exceeds `Double`.
package struct JSONScanner {
    package struct Malformed: Error {
        package init() {}
    }

    package static let depthMax = 512
    private let bytes: [UInt8]
    private var index = 0
    private var depth = 0

    package init(_ bytes: [UInt8]) { self.bytes = bytes }

    /// Returns true for one JSON value in UTF-8, without a byte order mark.
    package static func isValue(_ bytes: [UInt8]) -> Bool {
        var scanner = JSONScanner(bytes)
        do {
            try scanner.skipValue()
            try scanner.end()
            return true
        } catch {
            return false
        }
    }

    // MARK: Values

    /// Skips a value and returns its bytes.
    package mutating func value() throws(Malformed) -> ArraySlice<UInt8> {
        skipSpace()
        let start = index
        try skipValue()
        return bytes[start..<index]
    }

    /// Reads an array, and calls the closure at each element. The closure must read it.
    package mutating func array(_ element: (inout JSONScanner) throws -> Void) throws {
        try open("[")
        if skip("]") {
            depth -= 1
            return
        }
        repeat { try element(&self) } while skip(",")
        guard skip("]") else { throw Malformed() }
        depth -= 1
    }

    /// Reads an object, and calls the closure with the name of each member. The closure must read the value.
    package mutating func object(_ member: (String, inout JSONScanner) throws -> Void) throws {
        try open("{")
        if skip("}") {
            depth -= 1
            return
        }
        repeat {
            let name = try string()
            guard skip(":") else { throw Malformed() }
            try member(name, &self)
        } while skip(",")
        guard skip("}") else { throw Malformed() }
        depth -= 1
    }

    /// Reads a string.
    package mutating func string() throws(Malformed) -> String {
        skipSpace()
        let start = index
        try skipString()
        let text = bytes[start + 1..<index - 1]
        guard text.contains(UInt8(ascii: "\\")) else { return String(decoding: text, as: UTF8.self) }
        guard let decoded = try? JSONDecoder().decode(String.self, from: Data(bytes[start..<index])) else {
            throw Malformed()
        }
        return decoded
    }

    /// Checks that nothing follows.
    package mutating func end() throws(Malformed) {
        skipSpace()
        guard index == bytes.count else { throw Malformed() }
    }
}

// MARK: - Syntax

extension JSONScanner {
    private var next: UInt8? { index < bytes.count ? bytes[index] : nil }

    private mutating func skipSpace() {
        while let byte = next, byte == 0x20 || byte == 0x0a || byte == 0x0d || byte == 0x09 { index += 1 }
    }

    /// Skips white space, then the character. Returns false if another character follows.
    private mutating func skip(_ character: Unicode.Scalar) -> Bool {
        skipSpace()
        guard next == UInt8(ascii: character) else { return false }
        index += 1
        return true
    }

    private mutating func open(_ character: Unicode.Scalar) throws(Malformed) {
        guard skip(character), depth < Self.depthMax else { throw Malformed() }
        depth += 1
    }

    private mutating func skipValue() throws(Malformed) {
        skipSpace()
        switch next {
        case UInt8(ascii: "\""): try skipString()
        case UInt8(ascii: "{"): try skipContainer("{", "}", hasNames: true)
        case UInt8(ascii: "["): try skipContainer("[", "]", hasNames: false)
        case UInt8(ascii: "t"): try skipWord("true")
        case UInt8(ascii: "f"): try skipWord("false")
        case UInt8(ascii: "n"): try skipWord("null")
        default: try skipNumber()
        }
    }

    private mutating func skipContainer(
        _ opening: Unicode.Scalar, _ closing: Unicode.Scalar, hasNames: Bool
    ) throws(Malformed) {
        try open(opening)
        if skip(closing) {
            depth -= 1
            return
        }
        repeat {
            if hasNames {
                skipSpace()
                try skipString()
                guard skip(":") else { throw Malformed() }
            }
            try skipValue()
        } while skip(",")
        guard skip(closing) else { throw Malformed() }
        depth -= 1
    }

    private mutating func skipWord(_ word: StaticString) throws(Malformed) {
        let isThere = word.withUTF8Buffer { bytes[index...].starts(with: $0) }
        guard isThere else { throw Malformed() }
        index += word.utf8CodeUnitCount
    }

    /// Skips digits. Returns their number.
    private mutating func skipDigits() -> Int {
        let start = index
        while let byte = next, Self.isDigit(byte) { index += 1 }
        return index - start
    }

    private static func isDigit(_ byte: UInt8) -> Bool { byte >= UInt8(ascii: "0") && byte <= UInt8(ascii: "9") }

    private mutating func skipNumber() throws(Malformed) {
        let start = index
        if next == UInt8(ascii: "-") { index += 1 }
        let isZero = next == UInt8(ascii: "0")
        let count = skipDigits()
        guard count > 0, !isZero || count == 1 else { throw Malformed() }
        if next == UInt8(ascii: ".") {
            index += 1
            guard skipDigits() > 0 else { throw Malformed() }
        }
        var hasExponent = false
        if next == UInt8(ascii: "e") || next == UInt8(ascii: "E") {
            hasExponent = true
            index += 1
            if next == UInt8(ascii: "+") || next == UInt8(ascii: "-") { index += 1 }
            guard skipDigits() > 0 else { throw Malformed() }
        }
        // Shorter numbers without an exponent are always finite.
        guard hasExponent || index - start > 300 else { return }
        guard Double(String(decoding: bytes[start..<index], as: UTF8.self))?.isFinite == true else { throw Malformed() }
    }
}

// MARK: - Strings

extension JSONScanner {
    private mutating func skipString() throws(Malformed) {
        guard next == UInt8(ascii: "\"") else { throw Malformed() }
        index += 1
        while let byte = next {
            switch byte {
            case UInt8(ascii: "\""):
                index += 1
                return
            case UInt8(ascii: "\\"): try skipEscape()
            case 0..<0x20: throw Malformed()
            case 0x20..<0x80: index += 1
            default: try skipScalar(byte)
            }
        }
        throw Malformed()
    }

    private mutating func skipEscape() throws(Malformed) {
        index += 1
        guard let kind = next else { throw Malformed() }
        index += 1
        switch kind {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"), UInt8(ascii: "b"), UInt8(ascii: "f"),
            UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "t"):
            return
        case UInt8(ascii: "u"): break
        default: throw Malformed()
        }
        let unit = try hexadecimal()
        guard unit >= 0xd800, unit < 0xe000 else { return }
        guard unit < 0xdc00, bytes[index...].starts(with: [UInt8(ascii: "\\"), UInt8(ascii: "u")]) else {
            throw Malformed()
        }
        index += 2
        let low = try hexadecimal()
        guard low >= 0xdc00, low < 0xe000 else { throw Malformed() }
    }

    private mutating func hexadecimal() throws(Malformed) -> UInt32 {
        var unit: UInt32 = 0
        for _ in 0..<4 {
            guard let byte = next else { throw Malformed() }
            switch byte {
            case UInt8(ascii: "0")...UInt8(ascii: "9"): unit = unit << 4 | UInt32(byte - UInt8(ascii: "0"))
            case UInt8(ascii: "a")...UInt8(ascii: "f"): unit = unit << 4 | UInt32(byte - UInt8(ascii: "a") + 10)
            case UInt8(ascii: "A")...UInt8(ascii: "F"): unit = unit << 4 | UInt32(byte - UInt8(ascii: "A") + 10)
            default: throw Malformed()
            }
            index += 1
        }
        return unit
    }

    /// Skips one scalar of two to four bytes in UTF-8 (RFC 3629, 4).
    private mutating func skipScalar(_ first: UInt8) throws(Malformed) {
        let (count, second): (Int, ClosedRange<UInt8>) =
            switch first {
            case 0xc2...0xdf: (2, 0x80...0xbf)
            case 0xe0: (3, 0xa0...0xbf)
            case 0xe1...0xec, 0xee...0xef: (3, 0x80...0xbf)
            case 0xed: (3, 0x80...0x9f)
            case 0xf0: (4, 0x90...0xbf)
            case 0xf1...0xf3: (4, 0x80...0xbf)
            case 0xf4: (4, 0x80...0x8f)
            default: throw Malformed()
            }
        guard bytes.count - index >= count, second.contains(bytes[index + 1]) else { throw Malformed() }
        for place in index + 2..<index + count where bytes[place] & 0xc0 != 0x80 { throw Malformed() }
        index += count
    }
}
