public import Foundation

/// A small event: what a person tapped, and when. About 10 bytes of content.
public enum SampleEvent: Codable, Hashable, Sendable {
    /// The user has paused.
    case pause(at: Date)
    /// The user has gone on.
    case resume(at: Date)
    /// The user has begun another lap.
    case lap(index: Int, at: Date)
}
