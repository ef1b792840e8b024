public import Foundation

/// A small event: what a person tapped, and when. About 10 bytes of content.
public enum SampleEvent: Codable, Hashable, Sendable {
    case pause(at: Date)
    case resume(at: Date)
    case lap(index: Int, at: Date)
}
