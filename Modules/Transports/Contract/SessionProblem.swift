public import MeshBase

/// A mistake at a call site, or a failure, that lasts until it is solved.
///
/// ```swift
/// for problem in game.problems {
///     print(problem.message, problem.advice)            // what happened, and what to do
///     if problem.code == .peerIDInUse { print("two devices use the ID \(problem.subject)") }
/// }
/// ```
///
/// Sessions, shared states, stored keys and requests list theirs in `problems`. Debug builds also print each problem
/// that a call site has caused to standard error, once.
public struct SessionProblem: CodedError, Hashable, Identifiable {
    /// The kind of problem, for branching. Later versions may add codes.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        public let description: String

        package init(_ description: String) { self.description = description }
    }

    public let code: Code
    /// The feature, peer or key that has the problem. A list holds one problem per code and subject.
    public let subject: String
    public let message: String
    public let advice: String

    /// - Parameters:
    ///   - message: what happened, with the specific values. Without a full stop.
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
            advice:
                "Give each device an ID of its own: SessionPeer.thisDevice(), with a name for each of two processes on one device."
        )
    }

    package static func transportFailed(_ peerID: String, _ reason: String) -> Self {
        Self(
            .transportFailed, of: peerID, "the transport of '\(peerID)' can't connect: \(reason)",
            advice: "Fix the cause, then start the transport again, or make a new one.")
    }

    /// - Parameter failure: the start of the message, such as "stored keys can't be written".
    package static func storeFailed(of subject: String, _ failure: String, _ error: any Error) -> Self {
        Self(
            .storeFailed, of: subject, "\(failure): \(error.reason)",
            advice:
                "Free space for the store or check its file. Until then its data is only in memory, and a relaunch loses it."
        )
    }

    /// - Parameter thing: the value that wasn't changed, such as "the key 'volume'".
    package static func writeFailed(of subject: String, _ thing: String, _ error: any Error) -> Self {
        Self(.writeFailed, of: subject, "\(thing) wasn't changed: \(error.reason)", advice: "Set another value.")
    }

    package static func unreadableValue(of subject: String, _ thing: String, _ reason: String) -> Self {
        Self(
            .unreadableValue, of: subject, "\(thing) has a value that this app can't read: \(reason)",
            advice: "Update the app, or let its type read what other versions write: see Docs/Guides/Determinism.md.")
    }
}

extension Error {
    /// The error's text for the middle of a message: without the full stop.
    package var reason: String {
        let text = shownText
        return text.hasSuffix(".") ? String(text.dropLast()) : text
    }
}

extension SessionProblem.Code {
    /// Another device uses this device's peer ID, so neither sees the other.
    public static let peerIDInUse = Self("peerIDInUse")
    /// The transport could not start, or has failed.
    public static let transportFailed = Self("transportFailed")
    /// A store can't be read or written. In the meantime values stay in memory.
    public static let storeFailed = Self("storeFailed")
    /// A value could not be set, because it can't be encoded or doesn't fit.
    public static let writeFailed = Self("writeFailed")
    /// A value is too large to reach peers.
    public static let valueTooLarge = Self("valueTooLarge")
    /// A stored or received value is of another type or version than this app's.
    public static let unreadableValue = Self("unreadableValue")
    /// A message could not be sent, and sending it again can't succeed.
    public static let sendFailed = Self("sendFailed")
    /// Another object on the connection has the ID.
    public static let idInUse = Self("idInUse")
    /// A peer uses a version that this device doesn't understand, or the other way round.
    public static let incompatiblePeer = Self("incompatiblePeer")
}
