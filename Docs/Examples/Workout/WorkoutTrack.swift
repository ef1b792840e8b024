public import Foundation
public import MeshSeries
public import MeshSession

/// Measurements at one moment, taken about once a second. Recorded as a series, outside the order of taps.
public struct WorkoutSample: Codable, Hashable, Sendable {
    public var position: WorkoutPosition?
    /// Metres since the previous sample, 0 after a gap.
    public var moved: Double
    /// Beats a minute; nil without a sensor.
    public var heartRate: Int?

    public init(position: WorkoutPosition? = nil, moved: Double = 0, heartRate: Int? = nil) {
        self.position = position
        self.moved = moved
        self.heartRate = heartRate
    }

    var isPlausible: Bool { moved.isFinite && moved >= 0 && heartRate.map((0...500).contains) ?? true }
}

/// The runner's position.
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

extension Series<WorkoutSample> {
    /// The series of a workout's sensor measurements.
    public static let track = Series("track")
}

/// Totals of the samples of a track that this device holds.
public struct WorkoutTotals: Hashable, Sendable {
    public let sampleCount: Int
    /// Distance in metres.
    public let distance: Double
    /// Heart rate; nil until a sample has one.
    public let heartRate: HeartRateSummary?
    /// The time of the last sample.
    public let latest: Date?

    public init(_ summary: SeriesSummary = SeriesSummary()) {
        sampleCount = summary.count
        // A peer may have recorded any number, and the next lap's event carries this sum.
        let metres = summary["moved"].sum
        distance = metres.isFinite ? max(metres, 0) : 0
        heartRate = HeartRateSummary(summary["heartRate"])
        latest = summary.latest
    }

    /// Returns the pace in seconds per kilometre; nil before the first ten metres, which are mostly noise.
    public func pace(after elapsed: TimeInterval) -> TimeInterval? {
        distance < 10 ? nil : elapsed / distance * 1_000
    }
}

/// Heart rates of a track, in beats a minute.
public struct HeartRateSummary: Hashable, Sendable {
    public let latest: Int
    public let highest: Int
    public let average: Int

    /// Returns nil if the series has no heart rates.
    init?(_ column: SeriesSummary.Column) {
        guard column.count > 0, let latest = Int(exactly: column.last), let highest = Int(exactly: column.maximum),
            let average = Int(exactly: column.mean.rounded())
        else { return nil }
        (self.latest, self.highest, self.average) = (latest, highest, average)
    }
}

extension SyncedSession
where
    State == WorkoutState, Event == WorkoutEvent, Reducer == WorkoutReducer, ConflictPolicy == WorkoutPolicy
{
    /// Records a measurement made here.
    /// - Throws: `WorkoutError.invalidSample`, or an error of `record`.
    public func measure(_ sample: WorkoutSample, at moment: Date? = nil) throws {
        guard sample.isPlausible else { throw WorkoutError.invalidSample }
        try record(sample, in: .track, at: moment)
    }

    /// Totals of the device with the longest distance. Two devices on one runner both measure the run, so nothing is added up.
    public var totals: WorkoutTotals {
        let recorders = Set(seriesStatuses.lazy.filter { $0.name == Series.track.name }.map(\.peerID))
        return recorders.map { WorkoutTotals(summary(of: .track, by: $0)) }
            .max { ($0.distance, $0.sampleCount) < ($1.distance, $1.sampleCount) } ?? WorkoutTotals()
    }

    /// Returns the samples in order of time. A restarted device may record some samples again. They count once.
    /// - Throws: An error of `samples`.
    public func track() async throws -> [RecordedSample<WorkoutSample>] {
        var latest: [String: Date] = [:]
        return try await samples(of: .track).filter { sample in
            latest.updateValue(sample.moment, forKey: sample.peerID) != sample.moment
        }
    }
}
