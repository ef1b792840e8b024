/// A WebSocket that is open, to the server of a resumable stream.
package protocol ResumeSocket: Sendable {
    /// How the two have agreed to write.
    var encoding: FrameEncoding { get }

    /// Returns at once. What a broken socket does not take is lost.
    func send(_ bytes: [UInt8], isText: Bool)

    /// Asks the other side to close; `read` ends when it has, or after a while.
    func close(_ code: CloseCode)

    /// Breaks it off.
    func drop()

    /// Hands over what arrives, one message after another, until the socket has closed.
    /// - Returns: the server's code; nil where the connection broke.
    func read(_ body: (_ bytes: [UInt8], _ isText: Bool) async -> Void) async -> CloseCode?
}

/// An event that is new and in its place.
public struct ResumeMessage: Sendable {
    /// The event's number in its session.
    public let sequence: UInt64
    /// The server's frame, with the payload.
    public let frame: ServerFrame
    /// New or replayed; of others no message is made.
    public let reception: Reception
}
