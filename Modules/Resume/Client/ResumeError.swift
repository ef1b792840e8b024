public import MeshBase

/// Why a store did not do what it was asked for.
public struct ResumeError: CodedError {
    /// Why it is thrown. Later versions may know more codes.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        public let description: String

        /// The stored bytes are not those that were written.
        public static let damaged = Code(description: "damaged")
        /// Another user owns it, or may write to it.
        public static let foreign = Code(description: "foreign")
        /// The system or the store below refused; `cause` has its error.
        public static let unavailable = Code(description: "unavailable")
    }

    public let code: Code
    public let message: String
    public let cause: (any Error)?

    /// Creates an error of a ``ResumeStore``, for implementers.
    public init(_ code: Code, _ message: String, cause: (any Error)? = nil) {
        (self.code, self.message, self.cause) = (code, message, cause)
    }

    public var advice: String {
        switch code {
        case .damaged: ""
        case .foreign: "Use a file or folder of your own."
        default: "Check the free space and the permissions of the store, then try again."
        }
    }

    /// What any store has thrown.
    init(_ error: any Error) {
        self = error as? ResumeError ?? ResumeError(.unavailable, "the store failed", cause: error)
    }
}
