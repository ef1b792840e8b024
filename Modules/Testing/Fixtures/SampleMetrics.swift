/// Five live measurements, sent many times a minute. 40 bytes of content.
public struct SampleMetrics: Codable, Hashable, Sendable {
    /// The heart rate in beats per minute.
    public var heartRate: Double
    /// The active energy in kilocalories.
    public var activeEnergy: Double
    /// The distance in meters.
    public var distance: Double
    /// The pace in minutes per kilometer.
    public var pace: Double
    /// The cadence in steps per minute.
    public var cadence: Double

    /// Creates measurements from their fields.
    public init(heartRate: Double, activeEnergy: Double, distance: Double, pace: Double, cadence: Double) {
        self.heartRate = heartRate
        self.activeEnergy = activeEnergy
        self.distance = distance
        self.pace = pace
        self.cadence = cadence
    }
}
