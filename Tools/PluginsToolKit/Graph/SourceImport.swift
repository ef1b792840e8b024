/// An `import` in a source file, whatever `#if` it stands under.
struct SourceImport: Hashable {
    /// The module; of `import struct Foundation.Date`, `Foundation`.
    let module: String
    /// From 1.
    let line: Int
}

extension SourceImport {
    /// Every import of a Swift source text, in order; O(text).
    static func all(in text: String) -> [SourceImport] {
        let tokens = Token.all(in: SwiftSource.codeOnly(text))
        return tokens.indices.compactMap { index in
            guard tokens[index].text == "import", !tokens[index].isQuoted, startsStatement(index, in: tokens) else {
                return nil
            }
            var name = index + 1
            if name + 1 < tokens.count, kinds.contains(tokens[name].text), tokens[name + 1].isWord { name += 1 }
            // `import:` and `import x:` are argument labels.
            guard name < tokens.count, tokens[name].isWord else { return nil }
            if name + 1 < tokens.count, tokens[name + 1].text == ":" { return nil }
            return SourceImport(module: tokens[name].text, line: tokens[index].line)
        }
    }

    private static let kinds: Set = ["typealias", "struct", "class", "enum", "protocol", "let", "var", "func"]
    private static let accessLevels: Set = ["public", "package", "internal", "fileprivate", "private"]

    private static func startsStatement(_ index: Int, in tokens: [Token]) -> Bool {
        guard index > 0 else { return true }
        let previous = tokens[index - 1]
        if previous.line < tokens[index].line || previous.text == ";" { return true }
        if accessLevels.contains(previous.text) { return true }
        // An attribute before it, `@testable` or `@_spi(Testing)`.
        return tokens[..<index].reversed().prefix { $0.line == previous.line }.contains { $0.text == "@" }
    }
}

/// A word or a single character of source, with its line.
private struct Token {
    let text: String
    let line: Int
    let isWord: Bool
    /// Between backticks, where no word is a keyword.
    var isQuoted = false

    static func all(in code: [UInt8]) -> [Token] {
        var tokens: [Token] = []
        var line = 1
        var index = 0
        while index < code.count {
            let byte = code[index]
            if isWordByte(byte) {
                let end = code[index...].firstIndex { !isWordByte($0) } ?? code.count
                tokens.append(Token(text: String(decoding: code[index..<end], as: UTF8.self), line: line, isWord: true))
                index = end
                continue
            }
            // May hold any words (SE-0451).
            if byte == backtick, let end = code[(index + 1)...].firstIndex(where: { $0 == backtick || $0 == .newline }),
                code[end] == backtick
            {
                let name = String(decoding: code[(index + 1)..<end], as: UTF8.self)
                tokens.append(Token(text: name, line: line, isWord: true, isQuoted: true))
                index = end + 1
                continue
            }
            if byte == .newline {
                line += 1
            } else if byte > UInt8(ascii: " ") {
                tokens.append(Token(text: String(UnicodeScalar(byte)), line: line, isWord: false))
            }
            index += 1
        }
        return tokens
    }

    private static let backtick = UInt8(ascii: "`")

    private static func isWordByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"): true
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), 0x80...: true
        default: false
        }
    }
}
