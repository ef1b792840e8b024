public import MeshBase

/// The reason why an intent has no answer.
public enum SessionIntentError: Error, Hashable, Sendable {
    /// No device serves intents, or the owner has left the group.
    case noServingDevice
    /// The state didn't accept the intent: this device has too many open ones, or the feature's policy rejects it now.
    case refused
    /// The intent wasn't begun in time, as far as this device knows.
    case lapsed
    /// The intent may have been carried out. The designated device is gone, or its process ended meanwhile.
    case interrupted
    /// The handler threw an error with this text.
    case failed(String)
}

extension SessionIntentError: ExplainedError {
    public var description: String {
        switch self {
        case .noServingDevice: "no device in the session serves this request. Open the app on one that does"
        case .refused: "the session accepts no more requests now. Wait until an open one is answered"
        case .lapsed: "the device that was asked didn't begin in time. Ask again when it is in reach"
        case .interrupted: "the device that was asked is gone and may have done the work. Check before you ask again"
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
