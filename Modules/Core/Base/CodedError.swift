#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// An error that says what happened and what to do about it.
///
/// `description` is for logs: it says what happened. `localizedDescription` is for people: it says the same in the same words, as a
/// sentence, followed by ``advice``.
public protocol ExplainedError: LocalizedError, CustomStringConvertible {
    /// A sentence that says what to do. Empty if `description` says it already.
    var advice: String { get }
}

extension ExplainedError {
    public var errorDescription: String? { explanation(of: description) }
    // Foundation has these defaults too, but a module that imports only this one doesn't see them.
    public var failureReason: String? { nil }
    public var recoverySuggestion: String? { nil }
    public var helpAnchor: String? { nil }

    /// The text as a sentence, followed by the advice.
    package func explanation(of text: String) -> String {
        var sentence = text.prefix(1).uppercased() + text.dropFirst()
        if let last = sentence.last, !".!?…".contains(last) { sentence += "." }
        return advice.isEmpty ? sentence : "\(sentence) \(advice)"
    }
}

/// An error with a code to branch on and a message for people. Its `description` begins with the code, its `localizedDescription`
/// does not.
public protocol CodedError: ExplainedError {
    /// Why it is thrown. Later versions may know more codes.
    associatedtype Code: Hashable, Sendable, CustomStringConvertible

    /// The error's kind, for code that reacts to it.
    var code: Code { get }
    /// The description of the failure, for people.
    var message: String { get }
    /// The error underneath, where there is one.
    var cause: (any Error)? { get }
}

extension CodedError {
    public var cause: (any Error)? { nil }

    public var description: String {
        (message.isEmpty ? "\(code)" : "\(code): \(message)") + (cause.map { " (\($0))" } ?? "")
    }

    public var errorDescription: String? {
        let (text, prefix) = (description, "\(code): ")
        return explanation(of: text.hasPrefix(prefix) ? String(text.dropFirst(prefix.count)) : text)
    }
}
