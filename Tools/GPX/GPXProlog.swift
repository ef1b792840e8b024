import Foundation

/// Checks the document's prolog, the part before the root element, before the XML parser sees it.
///
/// Entity bombs and references to other files need a document type. GPX has none, and not every system's parser reports
/// one. Accepts only encodings in which `<!DOCTYPE` has its ASCII bytes, so that no document type can hide.
///
/// Complexity: linear in the bytes before the root element.
func faultInProlog(of document: Data, file: String) -> GPXError? {
    document.withUnsafeBytes { bytes in
        var rest = bytes[...]
        func fault(_ code: GPXError.Code, _ message: String) -> GPXError {
            let line = 1 + bytes[..<rest.startIndex].count { $0 == UInt8(ascii: "\n") }
            return GPXError(code: code, file: file, line: line, message: message)
        }

        if rest.starts(with: [0xEF, 0xBB, 0xBF]) { rest = rest.dropFirst(3) }
        while true {
            rest = rest.drop { $0 == 0x20 || (0x09...0x0D).contains($0) }
            if rest.starts(with: "<!DOCTYPE".utf8) {
                return fault(.hostile, "declares a document type; GPX files need none")
            } else if rest.starts(with: "<!--".utf8) {
                rest = rest.dropFirst(4).after("-->")
            } else if rest.starts(with: "<?".utf8) {
                let following = rest.dropFirst(2).after("?>")
                if let encoding = declaredEncoding(rest[..<following.startIndex]), !isASCIICompatible(encoding) {
                    return fault(.malformed, "is written in '\(encoding.prefix(40))'; UTF-8 is read")
                }
                rest = following
            } else {
                // UTF-16 and UTF-32 have a zero or a byte order mark here.
                let beginsWithText = rest.starts(with: "<".utf8) && rest.dropFirst().first != 0
                return beginsWithText ? nil : fault(.malformed, "is not XML in UTF-8")
            }
        }
    }
}

/// Returns the encoding that `<?xml … encoding="…"?>` names.
private func declaredEncoding(_ instruction: Slice<UnsafeRawBufferPointer>) -> String? {
    guard instruction.starts(with: "<?xml".utf8) else { return nil }
    let value = instruction.after("encoding").drop { $0 == 0x20 || $0 == UInt8(ascii: "=") }
    guard let quote = value.first else { return nil }
    return String(decoding: value.dropFirst().prefix { $0 != quote }, as: UTF8.self)
}

private func isASCIICompatible(_ encoding: String) -> Bool {
    let encoding = encoding.lowercased()
    return ["utf-8", "utf8", "us-ascii", "ascii", "latin1"].contains(encoding)
        || encoding.hasPrefix("iso-8859-") || encoding.hasPrefix("windows-125")
}

extension Slice<UnsafeRawBufferPointer> {
    /// Returns the bytes after the first occurrence of an ASCII text, or nothing if there is none.
    fileprivate func after(_ text: StaticString) -> Self {
        let pattern = UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount)
        var rest = self
        while let first = pattern.first, let start = rest.firstIndex(of: first) {
            rest = rest[start...]
            if rest.starts(with: pattern) { return rest.dropFirst(pattern.count) }
            rest = rest.dropFirst()
        }
        return self[endIndex...]
    }
}
