/// Why a store did not do what it was asked for. The message says what to do next.
public struct ResumeError: Error, Sendable, CustomStringConvertible {
    /// Why it is thrown. Later versions may know more codes.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        enum Value: String { case damaged, foreign, unavailable }

        let value: Value

        /// What is stored is not what was written.
        public static let damaged = Code(value: .damaged)
        /// Another user owns it, or may write to it.
        public static let foreign = Code(value: .foreign)
        /// The system or the store below refused; `cause` has its error.
        public static let unavailable = Code(value: .unavailable)

        public var description: String { value.rawValue }
    }

    /// What went wrong, to branch on.
    public let code: Code
    /// What happened, in words for people.
    public let message: String
    /// The error underneath, where there is one.
    public let cause: (any Error)?

    /// For implementers of a ``ResumeStore``.
    public init(_ code: Code, _ message: String, cause: (any Error)? = nil) {
        self.code = code
        self.message = message
        self.cause = cause
    }

    /// What any store has thrown.
    init(_ error: any Error) {
        self = error as? ResumeError ?? ResumeError(.unavailable, "the store failed: \(error)", cause: error)
    }

    public var description: String { "\(code): \(message)" }
}
