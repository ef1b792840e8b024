public import Foundation

/// A user's action in a workout, on either device. Every event carries the moment of the tap, not of its arrival. So it means
/// the same wherever and whenever it is applied.
public enum WorkoutEvent: Codable, Hashable, Sendable {
    case start(at: Date)
    case pause(at: Date)
    case resume(at: Date)
    /// The end of a lap. `distance` is the workout's metres so far, as the tapping device sees them. Samples aren't part of
    /// the ordered events, and devices may hold different ones. So the reducer must take the distance from the event.
    case lap(at: Date, distance: Double)
    case finish(at: Date, distance: Double)

    public var moment: Date {
        switch self {
        case .start(let at), .pause(let at), .resume(let at), .lap(let at, _), .finish(let at, _): at
        }
    }
}
