/// Swift source reduced to what the compiler reads: comments and string literals become spaces, lines stay lines.
///
/// A reader of imports needs no more of the language than this. Interpolated code is blanked with its string, for it
/// cannot hold an import. An unterminated literal ends with its line, as it does for the compiler.
struct SwiftSource {
    private enum Context {
        case string(hashes: Int, isMultiline: Bool)
        case interpolation(openParentheses: Int)
    }

    private let source: [UInt8]
    private var index = 0
    private var code: [UInt8] = []
    /// Open literals and interpolations, innermost last.
    private var contexts: [Context] = []

    /// O(source).
    static func codeOnly(_ text: String) -> [UInt8] {
        var scanner = SwiftSource(source: Array(text.utf8))
        scanner.scan()
        return scanner.code
    }

    private init(source: [UInt8]) {
        self.source = source
        code.reserveCapacity(source.count)
    }

    private mutating func scan() {
        let byteOrderMark = "\u{FEFF}"
        if starts(with: byteOrderMark) { blank(byteOrderMark.utf8.count) }
        while index < source.count {
            if case .string(let hashes, let isMultiline) = contexts.last {
                scanString(hashes: hashes, isMultiline: isMultiline)
            } else {
                scanCode()
            }
        }
    }

    private mutating func scanCode() {
        if starts(with: "//") {
            while index < source.count, source[index] != .newline { blank(1) }
        } else if starts(with: "/*") {
            skipBlockComment()
        } else if let hashes = stringDelimiter() {
            let isMultiline = starts(with: "\"\"\"", at: index + hashes)
            contexts.append(.string(hashes: hashes, isMultiline: isMultiline))
            blank(hashes + (isMultiline ? 3 : 1))
        } else if case .interpolation(let open) = contexts.last {
            let change = source[index] == UInt8(ascii: "(") ? 1 : source[index] == UInt8(ascii: ")") ? -1 : 0
            contexts.removeLast()
            if open + change > 0 { contexts.append(.interpolation(openParentheses: open + change)) }
            blank(1)
        } else {
            code.append(source[index])
            index += 1
        }
    }

    private mutating func scanString(hashes: Int, isMultiline: Bool) {
        let marks = String(repeating: "#", count: hashes)
        let quotes = isMultiline ? "\"\"\"" : "\""
        if starts(with: quotes + marks) {
            contexts.removeLast()
            blank(quotes.utf8.count + hashes)
        } else if starts(with: "\\" + marks + "(") {
            contexts.append(.interpolation(openParentheses: 1))
            blank(hashes + 2)
        } else if starts(with: "\\" + marks) {
            blank(hashes + 2)
        } else {
            if source[index] == .newline, !isMultiline { contexts.removeLast() }
            blank(1)
        }
    }

    private mutating func skipBlockComment() {
        var depth = 0
        repeat {
            if starts(with: "/*") {
                depth += 1
                blank(2)
            } else if starts(with: "*/") {
                depth -= 1
                blank(2)
            } else {
                blank(1)
            }
        } while depth > 0 && index < source.count
    }

    /// How many `#` open the string literal that begins here; nil when none does.
    private func stringDelimiter() -> Int? {
        var end = index
        while end < source.count, source[end] == UInt8(ascii: "#") { end += 1 }
        return end < source.count && source[end] == UInt8(ascii: "\"") ? end - index : nil
    }

    private func starts(with text: String, at start: Int? = nil) -> Bool {
        source[(start ?? index)...].starts(with: text.utf8)
    }

    private mutating func blank(_ count: Int) {
        for _ in 0..<count where index < source.count {
            code.append(source[index] == .newline ? .newline : .space)
            index += 1
        }
    }
}

extension UInt8 {
    static let newline = UInt8(ascii: "\n")
    fileprivate static let space = UInt8(ascii: " ")
}
