/// The encoding of frames, each of which is one message of a WebSocket (Docs/Internals/ResumeProtocol.md).
public enum FrameEncoding: String, Hashable, Sendable, CaseIterable {
    /// A JSON object in a text message. Also where no subprotocol was agreed on.
    case json
    /// Fewer bytes in a binary message. An event's payload is JSON all the same.
    case binary

    /// The name that a client offers in `Sec-WebSocket-Protocol`.
    public var subprotocol: String {
        switch self {
        case .json: "sessionmesh.resume.v1"
        case .binary: "sessionmesh.resume.binary.v1"
        }
    }

    /// Finds the encoding for the subprotocol that both sides agreed on; JSON if there is none.
    public init(subprotocol: String?) {
        self = subprotocol == FrameEncoding.binary.subprotocol ? .binary : .json
    }
}
