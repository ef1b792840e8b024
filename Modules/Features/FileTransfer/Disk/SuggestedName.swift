#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Makes one harmless file name of whatever a peer calls its file.
///
/// What is after the last separator of any system, without control and direction characters, not hidden, not reserved on
/// any system, never empty, at most 120 bytes of UTF-8. Sanitizing twice changes nothing.
enum SuggestedName {
    static let bytesMax = 120
    static let extensionBytesMax = 16
    /// Of a longer name the end counts, and nobody reads the rest.
    static let inputBytesMax = 4096

    private static let separators: Set<Unicode.Scalar> = ["/", "\\", ":"]
    private static let reserved: Set<String> = [
        "con", "prn", "aux", "nul", "com1", "com2", "com3", "com4", "com5", "com6", "com7", "com8", "com9", "lpt1",
        "lpt2", "lpt3", "lpt4", "lpt5", "lpt6", "lpt7", "lpt8", "lpt9",
    ]

    static func sanitize(_ name: String) -> String {
        let tail = String(decoding: name.utf8.suffix(inputBytesMax), as: UTF8.self)
        var last = String.UnicodeScalarView()
        for scalar in tail.unicodeScalars {
            if separators.contains(scalar) { last = String.UnicodeScalarView() } else { last.append(scalar) }
        }
        last.removeAll { !isHarmless($0) }
        var clean = trimmed(String(last))
        if reserved.contains(clean.prefix { $0 != "." }.lowercased()) { clean = "_\(clean)" }
        clean = shortened(clean)
        return clean.isEmpty ? "file" : clean
    }

    private static func isHarmless(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator, .privateUse, .surrogate, .unassigned: false
        default: !"<>\"|?*".unicodeScalars.contains(scalar) && scalar != "\u{FFFD}"
        }
    }

    private static func trimmed(_ name: String) -> String {
        var rest = Substring(name).drop { $0 == "." || $0.isWhitespace }
        while let last = rest.last, last == "." || last.isWhitespace { rest.removeLast() }
        return String(rest)
    }

    /// Keeps the extension where there is a sensible one.
    private static func shortened(_ name: String) -> String {
        guard name.utf8.count > bytesMax else { return name }
        var ending = ""
        if let dot = name.lastIndex(of: "."), name[dot...].utf8.count <= extensionBytesMax {
            ending = String(name[dot...])
        }
        var stem = name.dropLast(ending.count)
        // By scalars: one character may be thousands of bytes long.
        while stem.utf8.count + ending.utf8.count > bytesMax, !stem.isEmpty { stem.unicodeScalars.removeLast() }
        return trimmed(stem + ending)
    }
}
