public import MeshBase

/// Why a store did not do what it was asked for. The message says what to do next.
public struct StorageError: CodedError {
    /// Why it is thrown. Later versions may know more codes.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        public let description: String

        /// The disk or the quota is full. What was committed is still there.
        public static let full = Code(description: "full")
        /// The file or its folder may not be written.
        public static let readOnly = Code(description: "readOnly")
        /// The folder does not exist.
        public static let missing = Code(description: "missing")
        /// The stored bytes are not those that were written. The store has changed none of them.
        public static let damaged = Code(description: "damaged")
        /// The bytes are what was written, and the app's type can't be made of them: the type has changed since, or a newer version
        /// of the app has written them. Nothing of it has been changed.
        public static let unreadableState = Code(description: "unreadableState")
        /// The stored data is whole, but older than it has been. Nothing was changed.
        public static let outdated = Code(description: "outdated")
        /// A newer version of the library has written it.
        public static let newerSchema = Code(description: "newerSchema")
        /// The stored data belongs to another user or program, or others may write to it or replace it.
        public static let foreign = Code(description: "foreign")
        /// Another process, or another object of this one, has it open.
        public static let busy = Code(description: "busy")
        /// The system refused for another reason.
        public static let unavailable = Code(description: "unavailable")
        /// An entry's position does not follow the journal's last.
        public static let outOfOrder = Code(description: "outOfOrder")
        /// A bound of `StoreLimits` is exceeded.
        public static let oversized = Code(description: "oversized")
        /// The store has been closed.
        public static let closed = Code(description: "closed")
    }

    public let code: Code
    public let message: String
    public let cause: (any Error)?

    /// Creates an error of a ``SessionStore``, for implementers. The message says what to do next.
    public init(_ code: Code, _ message: String, cause: (any Error)? = nil) {
        (self.code, self.message, self.cause) = (code, message, cause)
    }

    /// Empty: each message says what to do.
    public var advice: String { "" }
}
