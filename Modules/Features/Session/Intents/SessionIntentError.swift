public import MeshBase

/// Why an intent has no answer.
public enum SessionIntentError: Error, Hashable, Sendable {
    /// No device serves intents, or the owner has left the group.
    case nobodyServes
    /// The state didn't accept the intent: this device has too many open ones, or the feature's policy rejects it now.
    case refused
    /// The intent wasn't begun in time, as far as this device knows.
    case lapsed
    /// The intent may have been carried out. The designated device is gone, or its process ended in between.
    case interrupted
    /// The handler threw an error with this text.
    case failed(String)
}

extension SessionIntentError: ExplainedError {
    public var description: String {
        switch self {
        case .nobodyServes: "no device in the session does what is asked: open the app on one that does"
        case .refused: "the session takes no further intent now: wait until one that is open has been answered"
        case .lapsed: "the device that was to do it did not begin in time: ask again when it is within reach"
        case .interrupted: "the device that was to do it has gone, and may have done it: look before asking again"
        case .failed(let text): text
        }
    }

    /// The handler's text, unchanged. For other errors, the cause and the advice.
    public var errorDescription: String? {
        if case .failed(let text) = self { text } else { explanation(of: description) }
    }

    /// Empty: each description includes its advice.
    public var advice: String { "" }
}
