/// An error with a code to branch on and a message for people.
public protocol CodedError: Error, CustomStringConvertible {
    /// Why it is thrown. Later versions may know more codes.
    associatedtype Code: Hashable, Sendable, CustomStringConvertible

    /// What went wrong, to branch on.
    var code: Code { get }
    /// What happened, in words for people.
    var message: String { get }
    /// The error underneath, where there is one.
    var cause: (any Error)? { get }
}

extension CodedError {
    public var cause: (any Error)? { nil }

    public var description: String {
        (message.isEmpty ? "\(code)" : "\(code): \(message)") + (cause.map { " (\($0))" } ?? "")
    }
}
