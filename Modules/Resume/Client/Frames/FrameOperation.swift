public import MeshBase

/// The operations of frames, by the numbers that chat gateways made common (Docs/Internals/ResumeProtocol.md). JSON frames say by
/// their type which dispatch is READY or RESUMED, binary ones by an operation of its own.
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

/// Why a frame cannot be read. A gateway closes with `closeCode`.
public struct FrameError: ExplainedError, Hashable, Sendable {
    /// The code with which a gateway closes the connection because of the error.
    public let closeCode: CloseCode
    /// The description of the failure, for people.
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
    /// Ours: why a session is invalid.
    case reason
}
