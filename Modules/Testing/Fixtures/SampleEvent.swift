public import Foundation

/// A small event: a user's tap and its time. About 10 bytes of content.
public enum SampleEvent: Codable, Hashable, Sendable {
    /// The user has paused.
    case pause(at: Date)
    /// The user has continued.
    case resume(at: Date)
    /// The user has started another lap.
    case lap(index: Int, at: Date)
}
