public import Foundation

/// What happens in a workout. Every event carries the moment of the tap or of the measurement, never that of its
/// arrival, so that it means the same wherever and whenever it is applied.
public enum WorkoutEvent: Codable, Hashable, Sendable {
    case start(at: Date)
    /// A position was measured.
    ///
    /// - `moved`: metres since the previous sample, 0 after a gap. Whoever measures also computes this: sine and cosine
    ///   differ in the last digit between systems, so a reducer that called them would not be deterministic.
    /// - `heartRate`: beats a minute, when a sensor is there.
    case sample(at: Date, position: WorkoutPosition, moved: Double, heartRate: Int? = nil)
    case pause(at: Date)
    case resume(at: Date)
    case lap(at: Date)
    case finish(at: Date)

    public var moment: Date {
        switch self {
        case .start(let at), .pause(let at), .resume(let at), .lap(let at), .finish(let at): at
        case .sample(let at, _, _, _): at
        }
    }

    /// Whether a person did this, on either device. Samples come from a sensor and many to the minute.
    public var isTap: Bool {
        if case .sample = self { false } else { true }
    }
}

/// Where the runner is.
public struct WorkoutPosition: Codable, Hashable, Sendable {
    /// Degrees north (WGS 84).
    public var latitude: Double
    /// Degrees east (WGS 84).
    public var longitude: Double
    /// Metres above sea level.
    public var elevation: Double?

    public init(latitude: Double, longitude: Double, elevation: Double? = nil) {
        self.latitude = latitude
        self.longitude = longitude
        self.elevation = elevation
    }
}
