public import Foundation

/// What a person does in a workout, on either device. Every event carries the moment of the tap, never that of its arrival,
/// so that it means the same wherever and whenever it is applied.
public enum WorkoutEvent: Codable, Hashable, Sendable {
    case start(at: Date)
    case pause(at: Date)
    case resume(at: Date)
    /// - `distance`: metres of the workout, as whoever taps sees them. What was measured lies beside the order of events and
    ///   is held by each device so far as it has come, so a reducer sees only what an event carries.
    case lap(at: Date, distance: Double)
    case finish(at: Date, distance: Double)

    public var moment: Date {
        switch self {
        case .start(let at), .pause(let at), .resume(let at), .lap(let at, _), .finish(let at, _): at
        }
    }
}
