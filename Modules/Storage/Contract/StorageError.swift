public import MeshBase

/// The reason why a store failed. The message says what to do next.
public struct StorageError: CodedError {
    /// The kind of failure. Later versions may add codes.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        public let description: String

        /// The disk or the quota is full. Everything committed is still there.
        public static let full = Code(description: "full")
        /// The file or its folder can't be written.
        public static let readOnly = Code(description: "readOnly")
        /// The folder or the file doesn't exist, or the file lacks the data that a reader asks for.
        public static let missing = Code(description: "missing")
        /// The stored bytes differ from the ones written. The store hasn't changed them.
        public static let damaged = Code(description: "damaged")
        /// The stored bytes are undamaged, but the app's type can't be decoded from them: the type has changed, or a newer
        /// version of the app has written them. The bytes are unchanged.
        public static let unreadableState = Code(description: "unreadableState")
        /// The stored data is consistent, but lacks commits that it once had. Or another process has changed it while
        /// the store was suspended. The store leaves it unchanged.
        public static let outdated = Code(description: "outdated")
        /// A newer version of the library has written the data.
        public static let newerSchema = Code(description: "newerSchema")
        /// The data belongs to another user or program, or others can write to it or replace it.
        public static let foreign = Code(description: "foreign")
        /// Another process or another object of this process has the store open.
        public static let busy = Code(description: "busy")
        /// The system refused for another reason.
        public static let unavailable = Code(description: "unavailable")
        /// An entry's position doesn't follow the journal's last one.
        public static let outOfOrder = Code(description: "outOfOrder")
        /// A limit of `StoreLimits` is exceeded.
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
