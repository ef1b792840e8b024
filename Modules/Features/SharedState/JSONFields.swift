import Foundation

/// The members of a JSON object, each in a form that is the same for equal values.
///
/// Numbers and strings stay as they were written; spaces go, and members of nested objects are put in order, since an
/// encoder may write them in any. O(bytes), and what sorting takes.
enum JSONFields {
    /// The name under which a value is kept that is no object.
    static let bareName = "\u{0}"
    static let depthMax = 512

    static func split(_ json: Data) throws -> [String: Data] {
        var scanner = JSONScanner(bytes: Array(json))
        return try scanner.document()
    }

    /// The object of these members. nil when what is there together is no JSON value.
    static func join(_ fields: [String: Data]) -> Data? {
        if let bare = fields[bareName] { return fields.count == 1 ? bare : nil }
        var json = Data("{".utf8)
        for (index, field) in fields.sorted(by: { $0.key < $1.key }).enumerated() {
            guard let name = try? JSONEncoder().encode(field.key) else { return nil }
            if index > 0 { json.append(UInt8(ascii: ",")) }
            json.append(name)
            json.append(UInt8(ascii: ":"))
            json.append(field.value)
        }
        json.append(UInt8(ascii: "}"))
        return json
    }
}

private struct JSONScanner {
    let bytes: [UInt8]
    var index = 0

    mutating func document() throws -> [String: Data] {
        let next = try next()
        var fields: [String: Data] = [:]
        if next == UInt8(ascii: "{") {
            for (name, value) in try members(depth: 0) {
                fields[try JSONDecoder().decode(String.self, from: Data(name))] = Data(value)
            }
        } else {
            fields[JSONFields.bareName] = Data(try value(depth: 0))
        }
        skipSpace()
        guard index == bytes.count else { throw invalid("something after its end") }
        return fields
    }

    private mutating func value(depth: Int) throws -> [UInt8] {
        guard depth < JSONFields.depthMax else { throw invalid("too deep") }
        switch try next() {
        case UInt8(ascii: "{"):
            let members = try members(depth: depth).sorted { $0.name.lexicographicallyPrecedes($1.name) }
            return wrap("{", members.map { $0.name + [UInt8(ascii: ":")] + $0.value }, "}")
        case UInt8(ascii: "["): return wrap("[", try elements(depth: depth), "]")
        case UInt8(ascii: "\""): return try string()
        default: return try literal()
        }
    }

    private func wrap(_ open: Unicode.Scalar, _ parts: [[UInt8]], _ close: Unicode.Scalar) -> [UInt8] {
        [UInt8(ascii: open)] + parts.joined(separator: [UInt8(ascii: ",")]) + [UInt8(ascii: close)]
    }

    private mutating func members(depth: Int) throws -> [(name: [UInt8], value: [UInt8])] {
        var members: [(name: [UInt8], value: [UInt8])] = []
        index += 1
        if try next() == UInt8(ascii: "}") {
            index += 1
            return []
        }
        while true {
            guard try next() == UInt8(ascii: "\"") else { throw invalid("a name was expected") }
            let name = try string()
            guard try next() == UInt8(ascii: ":") else { throw invalid("a colon was expected") }
            index += 1
            members.append((name, try value(depth: depth + 1)))
            if try isOver(UInt8(ascii: "}")) { return members }
        }
    }

    private mutating func elements(depth: Int) throws -> [[UInt8]] {
        var elements: [[UInt8]] = []
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

    private mutating func string() throws -> [UInt8] {
        let start = index
        index += 1
        while index < bytes.count, bytes[index] != UInt8(ascii: "\"") {
            index += bytes[index] == UInt8(ascii: "\\") ? 2 : 1
        }
        guard index < bytes.count else { throw invalid("a string without its end") }
        index += 1
        return Array(bytes[start..<index])
    }

    private mutating func literal() throws -> [UInt8] {
        let start = index
        while index < bytes.count, !Self.isEnd(bytes[index]) { index += 1 }
        guard index > start else { throw invalid("a value was expected") }
        return Array(bytes[start..<index])
    }

    private static func isEnd(_ byte: UInt8) -> Bool { isSpace(byte) || [0x2C, 0x3A, 0x5D, 0x7D].contains(byte) }
    private static func isSpace(_ byte: UInt8) -> Bool { [0x20, 0x09, 0x0A, 0x0D].contains(byte) }

    private mutating func skipSpace() {
        while index < bytes.count, Self.isSpace(bytes[index]) { index += 1 }
    }

    private mutating func next() throws -> UInt8 {
        skipSpace()
        guard index < bytes.count else { throw invalid("the end comes too soon") }
        return bytes[index]
    }

    private func invalid(_ what: String) -> DecodingError {
        .dataCorrupted(.init(codingPath: [], debugDescription: "no JSON, at byte \(index): \(what)"))
    }
}
