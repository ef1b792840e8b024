/// Why a GPX file cannot be used, and where.
public struct GPXError: Error, Hashable, Sendable {
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        private enum Value: String { case unreadable, tooLarge, malformed, hostile }
        private let value: Value

        /// The file cannot be opened or read.
        public static let unreadable = Code(value: .unreadable)
        /// More bytes or points than `GPXLimits` allow.
        public static let tooLarge = Code(value: .tooLarge)
        /// Not XML or not GPX.
        public static let malformed = Code(value: .malformed)
        /// Has a document type, whose entities no GPX file needs and attacks do.
        public static let hostile = Code(value: .hostile)

        public var description: String { value.rawValue }
    }

    public let code: Code
    /// The path or name under which the document was read.
    public let file: String
    /// Counted from 1; nil when the whole file is meant.
    public let line: Int?
    public let message: String

    public init(code: Code, file: String, line: Int? = nil, message: String) {
        self.code = code
        self.file = file
        self.line = line
        self.message = message
    }
}

extension GPXError: CustomStringConvertible {
    /// One line, as compilers write it: `route.gpx:12: …`.
    public var description: String {
        "\(file)\(line.map { ":\($0)" } ?? ""): \(message)"
    }
}
