extension Unicode.Scalar {
    /// True if the scalar is visible and doesn't affect the text around it. False for control characters (C0, delete,
    /// C1), line ends, private or unassigned scalars, and marks that are invisible or change the writing direction. The
    /// joiners are printable, because scripts and emoji need them.
    package var isPrintable: Bool {
        switch properties.generalCategory {
        case .control, .lineSeparator, .paragraphSeparator, .surrogate, .privateUse, .unassigned: false
        case .format: self == "\u{200C}" || self == "\u{200D}"
        default: true
        }
    }
}

extension String {
    /// Returns untrusted text with unprintable scalars escaped, as in `\u{1B}`, so that it is safe for a terminal or a
    /// log. O(bytes).
    /// - Parameter keepsLines: True to keep line feeds and tabs, for text of several lines.
    package func printable(keepsLines: Bool = false) -> String {
        escaped(keepsLines: keepsLines) { "\\u{\(String($0.value, radix: 16, uppercase: true))}" }
    }

    /// JSON with the same meaning as this one, safe for a terminal. Unprintable scalars, which occur only in strings,
    /// become JSON escapes. Carriage returns, which occur only between tokens, become spaces. O(bytes).
    package var printableJSON: String {
        escaped(keepsLines: true) { scalar in
            if scalar == "\r" { return " " }
            return scalar.utf16.map { unit in
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
