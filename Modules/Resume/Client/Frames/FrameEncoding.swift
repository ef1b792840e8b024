/// The encoding of frames. Each frame is one message of a WebSocket (Docs/Internals/ResumeProtocol.md).
public enum FrameEncoding: String, Hashable, Sendable, CaseIterable {
    /// A JSON object in a text message. Also used without an agreed subprotocol.
    case json
    /// A binary message, which is smaller. The payload of an event is still JSON.
    case binary

    /// The name that a client offers in `Sec-WebSocket-Protocol`.
    public var subprotocol: String {
        switch self {
        case .json: "sessionmesh.resume.v1"
        case .binary: "sessionmesh.resume.binary.v1"
        }
    }

    /// Returns the encoding for the agreed subprotocol; JSON if there is none.
    public init(subprotocol: String?) {
        self = subprotocol == FrameEncoding.binary.subprotocol ? .binary : .json
    }
}
