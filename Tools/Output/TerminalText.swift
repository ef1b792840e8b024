extension StringProtocol {
    /// How many columns of a terminal the text takes: two for each wide character, as of Chinese and most emoji.
    package var terminalColumns: Int { reduce(0) { $0 + $1.terminalColumns } }

    /// The longest beginning that takes at most so many columns.
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
    /// Roughly as UAX #11 has it; what it counts too wide only leaves a column empty.
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
    /// As many of the parts, from the first on, as fit into a line; of a first part that is too long as many words as do.
    /// Nothing is cut within a word, so a number is whole or not there.
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
