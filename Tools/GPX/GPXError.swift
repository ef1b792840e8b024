/// The reason that a GPX file can't be used, and its place.
public struct GPXError: Error, Hashable, Sendable {
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        private enum Value: String { case unreadable, tooLarge, malformed, hostile }
        private let value: Value

        /// The file can't be opened or read.
        public static let unreadable = Code(value: .unreadable)
        /// The file has more bytes or points than `GPXLimits` allow.
        public static let tooLarge = Code(value: .tooLarge)
        /// The file isn't XML or isn't GPX.
        public static let malformed = Code(value: .malformed)
        /// The file has a document type. No GPX file needs its entities, but attacks use them.
        public static let hostile = Code(value: .hostile)

        public var description: String { value.rawValue }
    }

    public let code: Code
    /// The path or name of the document.
    public let file: String
    /// Line number from 1; nil if the error concerns the whole file.
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
    /// One line in the style of compilers: `route.gpx:12: …`.
    public var description: String {
        "\(file)\(line.map { ":\($0)" } ?? ""): \(message)"
    }
}
