public import Foundation
public import MeshSeries
public import MeshSession

/// What was measured at one moment, about once a second: recorded beside the order of taps.
public struct WorkoutSample: Codable, Hashable, Sendable {
    public var position: WorkoutPosition?
    /// Metres since the previous sample, 0 after a gap.
    public var moved: Double
    /// Beats a minute, when a sensor is there.
    public var heartRate: Int?

    public init(position: WorkoutPosition? = nil, moved: Double = 0, heartRate: Int? = nil) {
        self.position = position
        self.moved = moved
        self.heartRate = heartRate
    }

    var isPlausible: Bool { moved.isFinite && moved >= 0 && heartRate.map((0...500).contains) ?? true }
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

extension Series<WorkoutSample> {
    /// What a workout's sensors measured.
    public static let track = Series("track")
}

/// What a track comes to, as far as it is held here.
public struct WorkoutTotals: Hashable, Sendable {
    public let sampleCount: Int
    /// Metres.
    public let distance: Double
    /// nil until a sample had one.
    public let heartRate: HeartRateSummary?
    /// When the last sample was measured.
    public let latest: Date?

    public init(_ summary: SeriesSummary = SeriesSummary()) {
        sampleCount = summary.count
        // A peer may have recorded anything, and the next lap carries this.
        let metres = summary["moved"].sum
        distance = metres.isFinite ? max(metres, 0) : 0
        heartRate = HeartRateSummary(summary["heartRate"])
        latest = summary.latest
    }

    /// Seconds for a kilometre; nil before the first ten metres, which are mostly noise.
    public func pace(after elapsed: TimeInterval) -> TimeInterval? {
        distance < 10 ? nil : elapsed / distance * 1_000
    }
}

/// In beats a minute.
public struct HeartRateSummary: Hashable, Sendable {
    public let latest: Int
    public let highest: Int
    public let average: Int

    /// nil for a series without any.
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
    /// Keeps what was measured here.
    /// - Throws: `WorkoutError.invalidSample`, and what `record` throws.
    public func measure(_ sample: WorkoutSample, at moment: Date? = nil) throws {
        guard sample.isPlausible else { throw WorkoutError.invalidSample }
        try record(sample, in: .track, at: moment)
    }

    /// What was measured, by the device that has come furthest: of two that a runner wears, each has the whole way.
    public var totals: WorkoutTotals {
        let recorders = Set(seriesStatuses.lazy.filter { $0.name == Series.track.name }.map(\.peerID))
        return recorders.map { WorkoutTotals(summary(of: .track, by: $0)) }
            .max { ($0.distance, $0.sampleCount) < ($1.distance, $1.sampleCount) } ?? WorkoutTotals()
    }

    /// What was measured, in the order of time. A device that was told to record again what it may have lost has recorded some
    /// of it twice, which counts once.
    /// - Throws: what `samples` throws.
    public func track() async throws -> [RecordedSample<WorkoutSample>] {
        var latest: [String: Date] = [:]
        return try await samples(of: .track).filter { sample in
            latest.updateValue(sample.moment, forKey: sample.peerID) != sample.moment
        }
    }
}
