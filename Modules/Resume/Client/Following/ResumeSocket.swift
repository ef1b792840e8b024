/// An open WebSocket to the server of a resumable stream.
package protocol ResumeSocket: Sendable {
    /// The encoding that both sides agreed on.
    var encoding: FrameEncoding { get }

    /// Sends a message, and returns at once. A broken socket drops it.
    func send(_ bytes: [UInt8], isText: Bool)

    /// Starts closing. `read` ends when the server has closed too, or after a timeout.
    func close(_ code: CloseCode)

    /// Closes the connection without a close frame.
    func drop()

    /// Passes on messages, one at a time, until the socket has closed.
    /// - Returns: The server's close code; nil if the connection broke.
    func read(_ body: (_ bytes: [UInt8], _ isText: Bool) async -> Void) async -> CloseCode?
}

/// A new event for the app, in order.
public struct ResumeMessage: Sendable {
    /// The event's number in its session.
    public let sequence: UInt64
    /// The server's frame, with the payload.
    public let frame: ServerFrame
    /// The coordinator's classification of the event: `live` or `replayed`.
    public let reception: Reception
}
