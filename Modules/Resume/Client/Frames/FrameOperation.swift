public import MeshBase

/// The operations of frames, with numbers that are common among chat gateways (Docs/Internals/ResumeProtocol.md). In
/// JSON, READY and RESUMED are types of `dispatch`. In binary frames, each has its own operation.
package enum FrameOperation: Int, Sendable {
    case dispatch = 0
    case heartbeat = 1
    case identify = 2
    case resume = 6
    case reconnect = 7
    case invalidSession = 9
    case hello = 10
    case heartbeatAck = 11
    case ready = 12
    case resumed = 13
}

/// An error about a frame that can't be read. A gateway closes with `closeCode`.
public struct FrameError: ExplainedError, Hashable, Sendable {
    /// The code with which a gateway closes the connection.
    public let closeCode: CloseCode
    /// A description of the failure, for people.
    public let message: String

    package init(_ closeCode: CloseCode, _ message: String) {
        self.closeCode = closeCode
        self.message = message
    }

    public var description: String { message }

    public var advice: String { "Update the app and the server, so that both speak the same version." }
}

enum FrameKey: String, CodingKey {
    case op, d, s, t
    /// The reason why a session is invalid. Specific to this library.
    case reason
}
