public import Foundation
public import MeshBase

/// Entries as JSON Lines: one object per line, in UTF-8, in the order of recording.
public struct DiagnosticsRecording: Sendable {
    /// Maximum number of bytes in a line. Longer ones are refused, because a recording may come from another person.
    public static let lineBytesMax = 1 << 20
    /// Maximum number of entries when a recording is read. More are refused.
    public static let entriesMax = 1_000_000

    /// The entries in the order in which they were recorded.
    public var entries: [DiagnosticsEntry]

    /// Creates a recording of these entries.
    public init(entries: [DiagnosticsEntry] = []) { self.entries = entries }

    /// Reads a recording in JSON Lines. Skips empty lines. Ignores unknown keys, so that recordings of later versions
    /// can be read. Complexity: O(bytes).
    /// - Throws: `DiagnosticsError`, which names the line.
    public init(jsonLines data: Data) throws(DiagnosticsError) {
        let decoder = JSONDecoder()
        entries = []
        for (index, line) in data.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).enumerated() {
            guard line.contains(where: { $0 > 0x20 }) else { continue }
            guard line.count <= Self.lineBytesMax else {
                throw DiagnosticsError(.tooLarge, "line \(index + 1) has more than \(Self.lineBytesMax) bytes")
            }
            guard entries.count < Self.entriesMax else {
                throw DiagnosticsError(.tooLarge, "there are more than \(Self.entriesMax) entries")
            }
            do {
                entries.append(try decoder.decode(DiagnosticsEntry.self, from: Data(line)))
            } catch {
                throw DiagnosticsError(.malformed, "line \(index + 1) isn't an entry of a recording", cause: error)
            }
        }
    }

    /// The entries as JSON, one per line. The last line ends with a newline too.
    public var jsonLines: Data {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        var data = Data()
        for entry in entries {
            // Encoding can only fail for a time that isn't finite.
            guard entry.at.isFinite, let line = try? encoder.encode(entry) else { continue }
            data += line
            data.append(UInt8(ascii: "\n"))
        }
        return data
    }
}

/// An error of reading a recording.
public struct DiagnosticsError: CodedError {
    /// The kinds of errors. Later versions may add codes.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        public let description: String

        /// A line isn't an entry.
        public static let malformed = Code(description: "malformed")
        /// A line is too long, or there are too many entries.
        public static let tooLarge = Code(description: "tooLarge")
    }

    public let code: Code
    public let message: String
    public let cause: (any Error)?

    init(_ code: Code, _ message: String, cause: (any Error)? = nil) {
        (self.code, self.message, self.cause) = (code, message, cause)
    }

    public var advice: String {
        switch code {
        case .tooLarge: "Record less, or split the recording into several."
        default: "Choose a complete file that DiagnosticsRecording wrote."
        }
    }
}
