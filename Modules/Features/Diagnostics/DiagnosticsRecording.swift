public import Foundation
public import MeshBase

/// Entries as JSON Lines: one object on a line, UTF-8, in the order in which they were recorded.
public struct DiagnosticsRecording: Sendable {
    /// Lines beyond it are refused, and so are more entries: a recording may come from another person.
    public static let lineBytesMax = 1 << 20
    /// Entries of a recording that is read.
    public static let entriesMax = 1_000_000

    /// The entries in the order in which they were recorded.
    public var entries: [DiagnosticsEntry]

    /// A recording of these entries.
    public init(entries: [DiagnosticsEntry] = []) { self.entries = entries }

    /// Reads lines; empty ones are skipped. Keys that are not known are too, so that a later version's recording is read.
    /// O(bytes).
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
                throw DiagnosticsError(.malformed, "line \(index + 1) is no entry of a recording", cause: error)
            }
        }
    }

    /// The entries as JSON, one in a line. The last line ends with a newline too.
    public var jsonLines: Data {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        var data = Data()
        for entry in entries {
            // Of text and integers, and a time that may be no number.
            guard entry.at.isFinite, let line = try? encoder.encode(entry) else { continue }
            data += line
            data.append(UInt8(ascii: "\n"))
        }
        return data
    }
}

/// Why a recording cannot be read.
public struct DiagnosticsError: CodedError {
    /// Why it is thrown. Later versions may know more codes.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        public let description: String

        /// A line is no entry.
        public static let malformed = Code(description: "malformed")
        /// A line is longer, or there are more, than is read.
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
        default: "Choose a file that DiagnosticsRecording wrote, and that is whole."
        }
    }
}
