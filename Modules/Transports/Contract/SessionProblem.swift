public import MeshBase

/// A mistake at a call site, or a failure, that lasts until it is solved.
///
/// Sessions, shared states, stored keys and requests list theirs in `problems`. In debug builds each is also printed on standard
/// error, once.
public struct SessionProblem: CodedError, Hashable, Identifiable {
    /// The kind of problem, to branch on. Later versions may know more codes.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        public let description: String

        package init(_ description: String) { self.description = description }
    }

    public let code: Code
    /// The feature, peer or key that has the problem. Of one code and subject a list holds one problem.
    public let subject: String
    public let message: String
    public let advice: String

    /// - Parameters:
    ///   - message: what happened, with the values that differ. Without a full stop.
    ///   - advice: a sentence that says what to do.
    package init(_ code: Code, of subject: String, _ message: String, advice: String) {
        self.code = code
        self.subject = subject.printable()
        self.message = message.printable()
        self.advice = advice
    }

    public var id: String { "\(code) \(subject)" }
}

extension SessionProblem {
    package static func peerIDInUse(_ id: String) -> Self {
        Self(
            .peerIDInUse, of: id, "another device uses the peer ID '\(id)', so neither sees the other",
            advice: "Give each device an ID of its own, such as SessionPeer.thisDevice().")
    }

    package static func transportFailed(_ peerID: String, _ reason: String) -> Self {
        Self(
            .transportFailed, of: peerID, "the transport of '\(peerID)' can't connect: \(reason)",
            advice: "Mend the cause, then start the transport again, or make a new one.")
    }
}

extension SessionProblem.Code {
    /// Another device uses this device's peer ID, so neither sees the other.
    public static let peerIDInUse = Self("peerIDInUse")
    /// The transport could not start, or has failed.
    public static let transportFailed = Self("transportFailed")
    /// A store can't be read or written. Values stay in memory meanwhile.
    public static let storeFailed = Self("storeFailed")
    /// Something could not be sent, and sending it again can't succeed.
    public static let sendFailed = Self("sendFailed")
}
