public import MeshBase

/// An error about a WebSocket that couldn't be opened or served.
public struct WebSocketError: CodedError {
    /// The reason for an error. Later versions may add codes.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        public let description: String

        /// The address isn't a URL of a WebSocket, or would send plain text beyond this machine.
        public static let invalidAddress = Code(description: "invalidAddress")
        /// A certificate or its key can't be read, or they don't match.
        public static let invalidCertificate = Code(description: "invalidCertificate")
        /// A setting is out of range. The message names it.
        public static let invalidSettings = Code(description: "invalidSettings")
        /// The server refused the upgrade to a WebSocket.
        public static let refused = Code(description: "refused")
        /// The system or the network failed. `cause` has the error.
        public static let unavailable = Code(description: "unavailable")
    }

    public let code: Code
    public let message: String
    public let cause: (any Error)?

    /// Creates an error, for other implementations of WebSockets.
    public init(_ code: Code, _ message: String, cause: (any Error)? = nil) {
        (self.code, self.message, self.cause) = (code, message, cause)
    }

    public var advice: String {
        switch code {
        case .invalidAddress:
            "Use wss://host:port/path. Without a certificate only this machine can be reached, as with ws://127.0.0.1:port."
        case .invalidCertificate: "Give a certificate and its key as PEM files that belong together."
        case .invalidSettings: "Change the setting that the message names."
        case .refused: "Check the path and the subprotocol: another server may answer there."
        default: "Check that the server runs, that the port is free for it, and that the network works."
        }
    }
}

extension WebSocketError {
    /// Throws `invalidSettings` if the port is out of range, because the system would take it modulo 65,536.
    static func require(port: Int) throws(WebSocketError) {
        guard (0...65_535).contains(port) else {
            throw WebSocketError(.invalidSettings, "port \(port) is outside 0 to 65535")
        }
    }
}
