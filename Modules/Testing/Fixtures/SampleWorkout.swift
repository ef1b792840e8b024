public import Foundation

/// A workout as a feature's state: nested structs, optionals, enums, arrays. 3–10 KB encoded.
public struct SampleWorkout: Codable, Hashable, Sendable {
    /// The kind of a workout.
    public enum Activity: String, Codable, Hashable, Sendable, CaseIterable {
        /// One of four kinds.
        case running, cycling, strength, rowing
    }

    /// The stage of a workout.
    public enum Phase: Int, Codable, Hashable, Sendable, CaseIterable {
        /// The stages from before the start to after the end.
        case idle, active, paused, ended
    }

    /// The ID of the workout.
    public var workoutID: UUID
    /// The workout's name as its user chose it.
    public var name: String
    /// The kind of the workout.
    public var activity: Activity
    /// The stage of the workout.
    public var phase: Phase
    /// The moment at which the workout began.
    public var startedAt: Date
    /// The moment at which the pause began; nil while the workout isn't paused.
    public var pausedAt: Date?
    /// The elapsed time in seconds.
    public var elapsed: Double
    /// The totals so far.
    public var totals: SampleMetrics
    /// The planned parts of the workout, in order.
    public var segments: [Segment]
    /// The laps so far, in order.
    public var laps: [Lap]
    /// The latest readings of the heart rate.
    public var recentHeartRates: [SampleHeartRate]
    /// Seconds in each heart rate zone.
    public var zoneSeconds: [Double]
    /// The user's notes, a few words each.
    public var notes: [String]
    /// The IDs of the people who take part.
    public var participants: [UUID]

    /// Creates a workout from its fields.
    public init(
        workoutID: UUID, name: String, activity: Activity, phase: Phase, startedAt: Date, pausedAt: Date? = nil,
        elapsed: Double, totals: SampleMetrics, segments: [Segment], laps: [Lap], recentHeartRates: [SampleHeartRate],
        zoneSeconds: [Double], notes: [String], participants: [UUID]
    ) {
        self.workoutID = workoutID
        self.name = name
        self.activity = activity
        self.phase = phase
        self.startedAt = startedAt
        self.pausedAt = pausedAt
        self.elapsed = elapsed
        self.totals = totals
        self.segments = segments
        self.laps = laps
        self.recentHeartRates = recentHeartRates
        self.zoneSeconds = zoneSeconds
        self.notes = notes
        self.participants = participants
    }
}

extension SampleWorkout {
    /// One planned part of the workout.
    public struct Segment: Codable, Hashable, Sendable, Identifiable {
        public var id: UUID
        /// The title of the part, in a few words.
        public var title: String
        /// The kind of the part.
        public var kind: Activity
        /// The moment at which the part began.
        public var startedAt: Date
        /// The moment at which the part ended; nil if it hasn't.
        public var endedAt: Date?
        /// The distance of the part in meters.
        public var distance: Double?
        /// The average heart rate in beats per minute; nil if not measured.
        public var averageHeartRate: Double?
        /// The maximum heart rate in beats per minute; nil if not measured.
        public var maximumHeartRate: Double?
        /// The number of sets.
        public var sets: Int
        /// The number of repetitions in one set; nil if they aren't counted.
        public var repetitions: Int?
        /// True if the part was completed.
        public var isCompleted: Bool

        /// Creates a segment from its fields.
        public init(
            id: UUID, title: String, kind: Activity, startedAt: Date, endedAt: Date? = nil, distance: Double? = nil,
            averageHeartRate: Double? = nil, maximumHeartRate: Double? = nil, sets: Int, repetitions: Int? = nil,
            isCompleted: Bool
        ) {
            self.id = id
            self.title = title
            self.kind = kind
            self.startedAt = startedAt
            self.endedAt = endedAt
            self.distance = distance
            self.averageHeartRate = averageHeartRate
            self.maximumHeartRate = maximumHeartRate
            self.sets = sets
            self.repetitions = repetitions
            self.isCompleted = isCompleted
        }
    }

    /// A lap of the workout.
    public struct Lap: Codable, Hashable, Sendable {
        /// The index of the lap, from 0.
        public var index: Int
        /// The moment at which the lap began.
        public var start: Date
        /// The duration of the lap in seconds.
        public var duration: Double
        /// The distance of the lap in meters.
        public var distance: Double
        /// The average heart rate in beats per minute; nil if not measured.
        public var averageHeartRate: Double?

        /// Creates a lap from its fields.
        public init(index: Int, start: Date, duration: Double, distance: Double, averageHeartRate: Double? = nil) {
            self.index = index
            self.start = start
            self.duration = duration
            self.distance = distance
            self.averageHeartRate = averageHeartRate
        }
    }
}
