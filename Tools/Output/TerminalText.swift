extension StringProtocol {
    /// Number of terminal columns of the text: two for each wide character, such as Chinese characters and most emoji.
    package var terminalColumns: Int { reduce(0) { $0 + $1.terminalColumns } }

    /// Returns the longest prefix that takes at most `columns` columns.
    package func prefix(columns: Int) -> SubSequence {
        var room = columns
        return prefix { character in
            room -= character.terminalColumns
            return room >= 0
        }
    }
}

extension Character {
    fileprivate var terminalColumns: Int {
        isASCII || !unicodeScalars.contains(where: { $0.value >= 0x1100 && $0.isWide }) ? 1 : 2
    }
}

extension Unicode.Scalar {
    /// True for wide characters, roughly as in UAX #11. A false positive only leaves a column empty.
    fileprivate var isWide: Bool {
        switch value {
        case 0x1100...0x115F, 0x231A...0x231B, 0x2E80...0xA4CF, 0xAC00...0xD7A3, 0xF900...0xFAFF, 0xFE10...0xFE6F,
            0xFF00...0xFF60, 0xFFE0...0xFFE6, 0x1F000...0x3FFFF:
            true
        default: properties.isEmojiPresentation
        }
    }
}

extension Sequence<String> {
    /// Returns as many of the parts, from the first on, as fit into a line. If the first part is too long, returns as many of
    /// its words as fit. Never cuts within a word, so no number is truncated.
    package func fitted(to width: Int, separator: String) -> String {
        var line = ""
        for (index, part) in enumerated() {
            let longer = index == 0 ? part : line + separator + part
            guard longer.terminalColumns <= width else {
                return index == 0 && part.contains(" ")
                    ? part.split(separator: " ").map(String.init).fitted(to: width, separator: " ") : line
            }
            line = longer
        }
        return line
    }
}
