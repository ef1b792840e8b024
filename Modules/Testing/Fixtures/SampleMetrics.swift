/// Five live numbers, sent many times a minute. 40 bytes of content.
public struct SampleMetrics: Codable, Hashable, Sendable {
    /// Beats a minute.
    public var heartRate: Double
    /// Kilocalories.
    public var activeEnergy: Double
    /// Metres.
    public var distance: Double
    /// Minutes a kilometre.
    public var pace: Double
    /// Steps a minute.
    public var cadence: Double

    /// Every field as it is.
    public init(heartRate: Double, activeEnergy: Double, distance: Double, pace: Double, cadence: Double) {
        self.heartRate = heartRate
        self.activeEnergy = activeEnergy
        self.distance = distance
        self.pace = pace
        self.cadence = cadence
    }
}
