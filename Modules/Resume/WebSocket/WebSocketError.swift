/// Why a WebSocket did not come about. The message says what to do next.
public struct WebSocketError: Error, Sendable, CustomStringConvertible {
    /// Why it is thrown. Later versions may know more codes.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        enum Value: String { case invalidAddress, invalidCertificate, refused, unavailable }

        let value: Value

        /// It is none, or would send in clear text what leaves this machine.
        public static let invalidAddress = Code(value: .invalidAddress)
        /// A certificate or its key cannot be read, or they do not belong together.
        public static let invalidCertificate = Code(value: .invalidCertificate)
        /// The server did not make it a WebSocket.
        public static let refused = Code(value: .refused)
        /// The system or the network failed; `cause` has its error.
        public static let unavailable = Code(value: .unavailable)

        public var description: String { value.rawValue }
    }

    /// What went wrong, to branch on.
    public let code: Code
    /// What happened, in words for people.
    public let message: String
    /// The error underneath, where there is one.
    public let cause: (any Error)?

    /// For those who make WebSockets of another kind.
    public init(_ code: Code, _ message: String, cause: (any Error)? = nil) {
        self.code = code
        self.message = message
        self.cause = cause
    }

    public var description: String { "\(code): \(message)" }
}
