public import Foundation

/// Thousands of samples: where a workout went and how fast the heart beat. About 220 KB of content at 3000 each.
public struct SampleTrack: Codable, Hashable, Sendable {
    /// Of the workout.
    public var workoutID: UUID
    /// When the workout began.
    public var startedAt: Date
    /// Where it went, in order.
    public var points: [Point]
    /// How fast the heart beat, in order.
    public var heartRates: [SampleHeartRate]

    /// Every field as it is.
    public init(workoutID: UUID, startedAt: Date, points: [Point], heartRates: [SampleHeartRate]) {
        self.workoutID = workoutID
        self.startedAt = startedAt
        self.points = points
        self.heartRates = heartRates
    }
}

extension SampleTrack {
    /// One position, as a satellite receiver reports it.
    public struct Point: Codable, Hashable, Sendable {
        /// When it was measured.
        public var time: Date
        /// Degrees.
        public var latitude: Double
        /// Degrees.
        public var longitude: Double
        /// Metres.
        public var altitude: Double
        /// Metres.
        public var horizontalAccuracy: Double
        /// Metres a second.
        public var speed: Double?
        /// Degrees from north.
        public var course: Double?

        /// Every field as it is.
        public init(
            time: Date, latitude: Double, longitude: Double, altitude: Double, horizontalAccuracy: Double,
            speed: Double? = nil, course: Double? = nil
        ) {
            self.time = time
            self.latitude = latitude
            self.longitude = longitude
            self.altitude = altitude
            self.horizontalAccuracy = horizontalAccuracy
            self.speed = speed
            self.course = course
        }
    }
}

/// One heartbeat reading.
public struct SampleHeartRate: Codable, Hashable, Sendable {
    /// When it was measured.
    public var time: Date
    /// Beats a minute.
    public var beatsPerMinute: Double

    /// Every field as it is.
    public init(time: Date, beatsPerMinute: Double) {
        self.time = time
        self.beatsPerMinute = beatsPerMinute
    }
}
