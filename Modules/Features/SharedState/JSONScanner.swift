import Foundation

/// Parses JSON and keeps its numbers and strings as written.
struct JSONScanner {
    let bytes: [UInt8]
    var index = 0

    mutating func document() throws -> JSONValue {
        let value = try value(depth: 0)
        skipSpace()
        guard index == bytes.count else { throw invalid("there are bytes after its end") }
        return value
    }

    private mutating func value(depth: Int) throws -> JSONValue {
        guard depth < JSONFields.depthMax else { throw invalid("it is nested too deeply") }
        switch try next() {
        case UInt8(ascii: "{"): return .object(try members(depth: depth))
        case UInt8(ascii: "["): return JSONValue(elements: try elements(depth: depth))
        case UInt8(ascii: "\""): return .scalar(try string())
        default: return .scalar(try literal())
        }
    }

    /// Reads the members of an object. If a name occurs twice, the last value counts.
    private mutating func members(depth: Int) throws -> [String: JSONValue] {
        var members: [String: JSONValue] = [:]
        index += 1
        if try next() == UInt8(ascii: "}") {
            index += 1
            return [:]
        }
        while true {
            guard try next() == UInt8(ascii: "\"") else { throw invalid("a name was expected") }
            let name = try JSONValue.name(of: try string())
            guard try next() == UInt8(ascii: ":") else { throw invalid("a colon was expected") }
            index += 1
            members[name] = try value(depth: depth + 1)
            if try isOver(UInt8(ascii: "}")) { return members }
        }
    }

    private mutating func elements(depth: Int) throws -> [JSONValue] {
        var elements: [JSONValue] = []
        index += 1
        if try next() == UInt8(ascii: "]") {
            index += 1
            return []
        }
        while true {
            elements.append(try value(depth: depth + 1))
            if try isOver(UInt8(ascii: "]")) { return elements }
        }
    }

    private mutating func isOver(_ end: UInt8) throws -> Bool {
        let byte = try next()
        index += 1
        guard byte == end || byte == UInt8(ascii: ",") else { throw invalid("a comma was expected") }
        return byte == end
    }

    private mutating func string() throws -> String {
        let start = index
        index += 1
        while index < bytes.count, bytes[index] != UInt8(ascii: "\"") {
            index += bytes[index] == UInt8(ascii: "\\") ? 2 : 1
        }
        guard index < bytes.count else { throw invalid("a string isn't closed") }
        index += 1
        return String(decoding: bytes[start..<index], as: UTF8.self)
    }

    private mutating func literal() throws -> String {
        let start = index
        while index < bytes.count, !Self.isEnd(bytes[index]) { index += 1 }
        guard index > start else { throw invalid("a value was expected") }
        return String(decoding: bytes[start..<index], as: UTF8.self)
    }

    private static func isEnd(_ byte: UInt8) -> Bool { isSpace(byte) || [0x2C, 0x3A, 0x5D, 0x7D].contains(byte) }
    private static func isSpace(_ byte: UInt8) -> Bool { [0x20, 0x09, 0x0A, 0x0D].contains(byte) }

    private mutating func skipSpace() {
        while index < bytes.count, Self.isSpace(bytes[index]) { index += 1 }
    }

    private mutating func next() throws -> UInt8 {
        skipSpace()
        guard index < bytes.count else { throw invalid("the bytes end too early") }
        return bytes[index]
    }

    private func invalid(_ what: String) -> DecodingError {
        .dataCorrupted(.init(codingPath: [], debugDescription: "invalid JSON at byte \(index): \(what)"))
    }
}
