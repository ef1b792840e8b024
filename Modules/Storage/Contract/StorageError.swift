/// Why a store did not do what it was asked for. The message says what to do next.
public struct StorageError: Error, Sendable {
    /// Why it is thrown. Later versions may know more codes.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        enum Value: String {
            case full, readOnly, missing, damaged, outdated, newerSchema, foreign, busy, unavailable
            case outOfOrder, oversized, closed
        }

        let value: Value

        /// The disk or the quota is full. What was committed is still there.
        public static let full = Code(value: .full)
        /// The file or its folder may not be written.
        public static let readOnly = Code(value: .readOnly)
        /// The folder does not exist.
        public static let missing = Code(value: .missing)
        /// What is stored is not what was written. Nothing of it has been changed.
        public static let damaged = Code(value: .damaged)
        /// It is whole, and older than it has been. Nothing of it has been changed.
        public static let outdated = Code(value: .outdated)
        /// A newer version of the library has written it.
        public static let newerSchema = Code(value: .newerSchema)
        /// It belongs to somebody else, or others may write to it or put something in its place.
        public static let foreign = Code(value: .foreign)
        /// Another process, or another object of this one, has it open.
        public static let busy = Code(value: .busy)
        /// The system refused for another reason.
        public static let unavailable = Code(value: .unavailable)
        /// An entry's position does not follow the journal's last.
        public static let outOfOrder = Code(value: .outOfOrder)
        /// A bound of `StoreLimits` is exceeded.
        public static let oversized = Code(value: .oversized)
        /// The store has been closed.
        public static let closed = Code(value: .closed)

        public var description: String { value.rawValue }
    }

    /// What went wrong, to branch on.
    public let code: Code
    /// What happened, in words for people.
    public let message: String
    /// The error underneath, where there is one.
    public let cause: (any Error)?

    /// For implementers of a ``SessionStore``: the message says what to do next.
    public init(_ code: Code, _ message: String, cause: (any Error)? = nil) {
        self.code = code
        self.message = message
        self.cause = cause
    }
}

extension StorageError: CustomStringConvertible {
    public var description: String {
        cause.map { "\(code): \(message) (\($0))" } ?? "\(code): \(message)"
    }
}
