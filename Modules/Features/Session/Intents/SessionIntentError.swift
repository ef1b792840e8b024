public import MeshBase

/// Why an intent has no answer.
public enum SessionIntentError: Error, Hashable, Sendable {
    /// No device serves, or the one that did has gone from the group.
    case nobodyServes
    /// The state has not taken it: this device has too many open ones, or the feature's policy rejects it now.
    case refused
    /// The intent wasn't begun in time, as far as this device knows.
    case lapsed
    /// The intent may have been carried out: the device that was to do it has gone, or its process ended in between.
    case interrupted
    /// The handler threw; the text is that of its error.
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

    /// The handler's own text as it was written. For every other error, what happened and what to do.
    public var errorDescription: String? {
        if case .failed(let text) = self { text } else { explanation(of: description) }
    }

    /// Empty: each description says what to do.
    public var advice: String { "" }
}
