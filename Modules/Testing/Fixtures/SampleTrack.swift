public import Foundation

/// A large state: the positions and heart rates of a workout. About 220 KB of content with 3,000 of each.
public struct SampleTrack: Codable, Hashable, Sendable {
    /// The ID of the track's workout.
    public var workoutID: UUID
    /// The moment at which the workout began.
    public var startedAt: Date
    /// The points of the track, in order.
    public var points: [Point]
    /// The heart rates along the track, in order.
    public var heartRates: [SampleHeartRate]

    /// Creates a track from its fields.
    public init(workoutID: UUID, startedAt: Date, points: [Point], heartRates: [SampleHeartRate]) {
        self.workoutID = workoutID
        self.startedAt = startedAt
        self.points = points
        self.heartRates = heartRates
    }
}

extension SampleTrack {
    /// A position, as a satellite receiver reports it.
    public struct Point: Codable, Hashable, Sendable {
        /// The moment of the measurement.
        public var time: Date
        /// The latitude in degrees.
        public var latitude: Double
        /// The longitude in degrees.
        public var longitude: Double
        /// The altitude in meters.
        public var altitude: Double
        /// The horizontal accuracy in meters.
        public var horizontalAccuracy: Double
        /// The speed in meters per second.
        public var speed: Double?
        /// The course in degrees from north.
        public var course: Double?

        /// Creates a point from its fields.
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

/// A reading of the heart rate.
public struct SampleHeartRate: Codable, Hashable, Sendable {
    /// The moment of the measurement.
    public var time: Date
    /// The heart rate in beats per minute.
    public var beatsPerMinute: Double

    /// Creates a reading from its fields.
    public init(time: Date, beatsPerMinute: Double) {
        self.time = time
        self.beatsPerMinute = beatsPerMinute
    }
}
