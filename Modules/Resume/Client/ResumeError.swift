public import MeshBase

/// An error of a ``ResumeStore``.
public struct ResumeError: CodedError {
    /// The reason for an error. Later versions may add codes.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        public let description: String

        /// The stored bytes are damaged.
        public static let damaged = Code(description: "damaged")
        /// Another user owns the file or may write to it.
        public static let foreign = Code(description: "foreign")
        /// The system or the underlying store failed. `cause` has its error.
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

    /// Wraps any error of a store.
    init(_ error: any Error) {
        self = error as? ResumeError ?? ResumeError(.unavailable, "the store failed", cause: error)
    }
}
