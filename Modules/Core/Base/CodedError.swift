#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// An error that says what happened and what to do about it.
///
/// `description` is for logs. `localizedDescription` is for people: the same text as a sentence, followed by
/// ``advice``.
public protocol ExplainedError: LocalizedError, CustomStringConvertible {
    /// A sentence that says what to do. Empty if `description` already does.
    var advice: String { get }
}

extension ExplainedError {
    public var errorDescription: String? { explanation(of: description) }
    // Foundation has these defaults too, but modules that import only this one don't see them.
    public var failureReason: String? { nil }
    public var recoverySuggestion: String? { nil }
    public var helpAnchor: String? { nil }

    /// Returns the text as a sentence, followed by the advice.
    package func explanation(of text: String) -> String {
        var sentence = text.prefix(1).uppercased() + text.dropFirst()
        if let last = sentence.last, !".!?…".contains(last) { sentence += "." }
        return advice.isEmpty ? sentence : "\(sentence) \(advice)"
    }
}

/// An error with a code for programs and a message for people. Its `description` starts with the code, its
/// `localizedDescription` doesn't.
public protocol CodedError: ExplainedError {
    /// The category of the failure. Later versions may add codes.
    associatedtype Code: Hashable, Sendable, CustomStringConvertible

    /// The category of this error, for code that handles it.
    var code: Code { get }
    /// The description of the failure, for people.
    var message: String { get }
    /// The underlying error, if there is one.
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
