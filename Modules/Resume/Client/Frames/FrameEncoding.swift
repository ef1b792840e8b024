/// How frames are written, each as a message of a WebSocket (Docs/Internals/ResumeProtocol.md).
public enum FrameEncoding: String, Hashable, Sendable, CaseIterable {
    /// A JSON object in a text message. Also where no subprotocol was agreed on.
    case json
    /// Fewer bytes in a binary message. An event's payload is JSON all the same.
    case binary

    /// What a client offers in `Sec-WebSocket-Protocol`.
    public var subprotocol: String {
        switch self {
        case .json: "sessionmesh.resume.v1"
        case .binary: "sessionmesh.resume.binary.v1"
        }
    }

    /// What was agreed on.
    public init(subprotocol: String?) {
        self = subprotocol == FrameEncoding.binary.subprotocol ? .binary : .json
    }
}
