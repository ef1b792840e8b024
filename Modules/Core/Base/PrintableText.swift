extension Unicode.Scalar {
    /// Shows as what it is and changes nothing around it: no control (C0, delete, C1), no end of a line, no mark that turns
    /// the direction of writing or shows nothing. The joiners, which scripts and emoji need, do.
    package var isPrintable: Bool {
        switch properties.generalCategory {
        case .control, .lineSeparator, .paragraphSeparator, .surrogate, .privateUse, .unassigned: false
        case .format: self == "\u{200C}" || self == "\u{200D}"
        default: true
        }
    }
}

extension String {
    /// This text, which may come from anybody, fit to be shown by a terminal or written to a log: what is not printable
    /// shows as an escape, such as `\u{1B}`, and nothing happens. O(bytes).
    /// - Parameter keepsLines: ends of lines and tabs stay, for text of several lines.
    package func printable(keepsLines: Bool = false) -> String {
        escaped(keepsLines: keepsLines) { "\\u{\(String($0.value, radix: 16, uppercase: true))}" }
    }

    /// This text of JSON with the same meaning, fit to be shown by a terminal: what is not printable can be in strings only,
    /// which have an escape for it. O(bytes).
    package var printableJSON: String {
        escaped(keepsLines: true) { scalar in
            scalar.utf16.map { unit in
                let digits = String(unit, radix: 16)
                return "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            }.joined()
        }
    }

    private func escaped(keepsLines: Bool, _ escape: (Unicode.Scalar) -> String) -> String {
        func stays(_ scalar: Unicode.Scalar) -> Bool {
            scalar.isPrintable || keepsLines && (scalar == "\n" || scalar == "\t")
        }
        guard !unicodeScalars.allSatisfy(stays) else { return self }
        var text = ""
        for scalar in unicodeScalars {
            if stays(scalar) { text.unicodeScalars.append(scalar) } else { text += escape(scalar) }
        }
        return text
    }
}
