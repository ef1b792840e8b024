public import Foundation

/// A whole workout as a feature's state: nested structs, optionals, enums, arrays. 3–10 KB encoded.
public struct SampleWorkout: Codable, Hashable, Sendable {
    public enum Activity: String, Codable, Hashable, Sendable, CaseIterable {
        case running, cycling, strength, rowing
    }

    public enum Phase: Int, Codable, Hashable, Sendable, CaseIterable {
        case idle, active, paused, ended
    }

    public var workoutID: UUID
    public var name: String
    public var activity: Activity
    public var phase: Phase
    public var startedAt: Date
    public var pausedAt: Date?
    /// Seconds.
    public var elapsed: Double
    public var totals: SampleMetrics
    public var segments: [Segment]
    public var laps: [Lap]
    public var recentHeartRates: [SampleHeartRate]
    public var zoneSeconds: [Double]
    public var notes: [String]
    public var participants: [UUID]

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
        public var title: String
        public var kind: Activity
        public var startedAt: Date
        public var endedAt: Date?
        /// Metres.
        public var distance: Double?
        public var averageHeartRate: Double?
        public var maximumHeartRate: Double?
        public var sets: Int
        public var repetitions: Int?
        public var isCompleted: Bool

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

    public struct Lap: Codable, Hashable, Sendable {
        public var index: Int
        public var start: Date
        /// Seconds.
        public var duration: Double
        /// Metres.
        public var distance: Double
        public var averageHeartRate: Double?

        public init(index: Int, start: Date, duration: Double, distance: Double, averageHeartRate: Double? = nil) {
            self.index = index
            self.start = start
            self.duration = duration
            self.distance = distance
            self.averageHeartRate = averageHeartRate
        }
    }
}
