import MeshFoundation

/// Makes a single path component, valid on every common file system, from the name that a peer has sent.
///
/// Replaces each of these scalars with `_` and keeps all others, so names that differ elsewhere stay different:
///
/// | replaced by `_` | reason |
/// |---|---|
/// | `/` and NUL | separators and ends of paths everywhere |
/// | `\ : * ? " < > \|` | refused by FAT, exFAT and NTFS; Finder shows `:` as `/` |
/// | control characters, line and paragraph separators | refused by NTFS; break lists of names |
/// | unassigned scalars | refused by APFS |
/// | marks that change the direction of writing | make one name look like another |
/// | a dot in front | hides the file; excludes `.` and `..` |
/// | a combining mark in front | makes one `Character` with the separator before it |
/// | a dot or white space at the end | dropped by Windows |
///
/// A name that Windows reserves for a device gets a leading `_`. A name longer than `bytesMax` loses the end of its stem
/// and keeps its extension. Sanitizing twice changes nothing.
enum SuggestedName {
    /// Maximum number of bytes. Many file systems allow 255; the difference leaves space for a number
    /// (`ReceivedFile.move(into:)`).
    static let bytesMax = 240
    static let extensionBytesMax = 16
    /// Number of bytes read, from the end of the name.
    static let inputBytesMax = 4096

    private static let refused = Set("/\\:*?\"<>|".unicodeScalars)
    private static let reserved: Set<String> = [
        "con", "prn", "aux", "nul", "com1", "com2", "com3", "com4", "com5", "com6", "com7", "com8", "com9", "lpt1",
        "lpt2", "lpt3", "lpt4", "lpt5", "lpt6", "lpt7", "lpt8", "lpt9",
    ]

    static func sanitize(_ name: String) -> String {
        let tail = String(decoding: name.utf8.suffix(inputBytesMax), as: UTF8.self)
        var clean = withSafeEnds(String(String.UnicodeScalarView(tail.unicodeScalars.map(sanitized))))
        if reserved.contains(clean.prefix { $0 != "." }.lowercased()) { clean = "_\(clean)" }
        clean = shortened(clean)
        return clean.isEmpty ? "file" : clean
    }

    /// Returns the name with a number before its extension: `track 2.gpx`.
    static func numbered(_ name: String, _ number: Int) -> String {
        let ending = ending(of: name)
        return "\(name.dropLast(ending.count)) \(number)\(ending)"
    }

    private static func sanitized(_ scalar: Unicode.Scalar) -> Unicode.Scalar {
        switch scalar.properties.generalCategory {
        case .control, .lineSeparator, .paragraphSeparator, .unassigned: "_"
        default: refused.contains(scalar) || scalar.properties.isBidiControl ? "_" : scalar
        }
    }

    private static func withSafeEnds(_ name: String) -> String {
        var scalars = Array(name.unicodeScalars)
        if scalars.first == "." || !scalars.isEmpty && "/\(name)".first != "/" { scalars[0] = "_" }
        if let last = scalars.last, last == "." || last.properties.isWhitespace { scalars[scalars.count - 1] = "_" }
        return String(String.UnicodeScalarView(scalars))
    }

    private static func shortened(_ name: String) -> String {
        guard name.utf8.count > bytesMax else { return name }
        let ending = ending(of: name)
        var stem = name.dropLast(ending.count).unicodeScalars
        // Drops scalars, not characters: a character can be thousands of bytes long.
        var byteCount = name.utf8.count
        while byteCount > bytesMax, let last = stem.popLast() { byteCount -= UTF8.width(last) }
        return withSafeEnds(String(stem) + ending)
    }

    /// Returns the extension with its dot, or nothing if there is none or it is too long.
    private static func ending(of name: String) -> Substring {
        guard let dot = name.lastIndex(of: "."), dot > name.startIndex, name[dot...].utf8.count <= extensionBytesMax
        else { return "" }
        return name[dot...]
    }
}
