public import Foundation

/// A whole workout as a feature's state: nested structs, optionals, enums, arrays. 3–10 KB encoded.
public struct SampleWorkout: Codable, Hashable, Sendable {
    /// What the workout is.
    public enum Activity: String, Codable, Hashable, Sendable, CaseIterable {
        /// One of four kinds.
        case running, cycling, strength, rowing
    }

    /// Where the workout stands.
    public enum Phase: Int, Codable, Hashable, Sendable, CaseIterable {
        /// From before the start to after the end.
        case idle, active, paused, ended
    }

    /// Of the workout.
    public var workoutID: UUID
    /// What its user calls it.
    public var name: String
    /// What it is.
    public var activity: Activity
    /// Where it stands.
    public var phase: Phase
    /// When it began.
    public var startedAt: Date
    /// When the pause began; nil while it runs.
    public var pausedAt: Date?
    /// Seconds.
    public var elapsed: Double
    /// What has come together so far.
    public var totals: SampleMetrics
    /// What is planned, in order.
    public var segments: [Segment]
    /// What has been run, in order.
    public var laps: [Lap]
    /// The last readings.
    public var recentHeartRates: [SampleHeartRate]
    /// Seconds in each zone of heart rates.
    public var zoneSeconds: [Double]
    /// Free words.
    public var notes: [String]
    /// Who takes part.
    public var participants: [UUID]

    /// Every field as it is.
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
        /// A few words.
        public var title: String
        /// What the part is.
        public var kind: Activity
        /// When it began.
        public var startedAt: Date
        /// When it ended; nil while it goes on.
        public var endedAt: Date?
        /// Metres.
        public var distance: Double?
        /// Beats a minute; nil where none were measured.
        public var averageHeartRate: Double?
        /// Beats a minute; nil where none were measured.
        public var maximumHeartRate: Double?
        /// How often it is done.
        public var sets: Int
        /// Of one set; nil where it is not counted.
        public var repetitions: Int?
        /// Whether it was done.
        public var isCompleted: Bool

        /// Every field as it is.
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

    /// One lap.
    public struct Lap: Codable, Hashable, Sendable {
        /// Counts from 1.
        public var index: Int
        /// When it began.
        public var start: Date
        /// Seconds.
        public var duration: Double
        /// Metres.
        public var distance: Double
        /// Beats a minute; nil where none were measured.
        public var averageHeartRate: Double?

        /// Every field as it is.
        public init(index: Int, start: Date, duration: Double, distance: Double, averageHeartRate: Double? = nil) {
            self.index = index
            self.start = start
            self.duration = duration
            self.distance = distance
            self.averageHeartRate = averageHeartRate
        }
    }
}
