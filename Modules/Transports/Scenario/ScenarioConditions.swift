import MeshBase

/// The effects of a network on packets in one direction between two peers.
public struct ScenarioConditions: Hashable, Sendable {
    /// The time that packets take.
    public var latency: ScenarioLatency
    /// The share of lost datagrams, 0...1. On other lanes the layer below resends lost packets, each time after one
    /// more round trip.
    public var lossRate: Double
    /// The share of datagrams that arrive twice, 0...1.
    public var duplicationRate: Double
    /// The share of datagrams that are held back for up to four times their latency while others overtake them, 0...1.
    /// Without it they arrive in the order in which they were sent.
    public var reorderingRate: Double

    /// Creates conditions, by default those of a home network: 5 to 50 ms and no faults.
    public init(
        latency: ScenarioLatency = .uniform(.milliseconds(5), .milliseconds(50)), lossRate: Double = 0,
        duplicationRate: Double = 0, reorderingRate: Double = 0
    ) {
        self.latency = latency
        self.lossRate = lossRate
        self.duplicationRate = duplicationRate
        self.reorderingRate = reorderingRate
    }

    /// Conditions without faults: one millisecond each way.
    public static let ideal = ScenarioConditions(latency: .fixed(.milliseconds(1)))
    /// Conditions without faults: 5 to 50 milliseconds each way.
    public static let calm = ScenarioConditions()
    /// Conditions with long tails: a fifth is lost, a tenth duplicated, a third out of order.
    public static let rough = ScenarioConditions(
        latency: .longTailed(median: .milliseconds(40), most: .seconds(4)), lossRate: 0.2, duplicationRate: 0.1,
        reorderingRate: 0.33)
}

/// The time that a packet takes from one peer to another.
public enum ScenarioLatency: Hashable, Sendable {
    /// Every packet takes the same time.
    case fixed(Duration)
    /// Any time between the two is equally likely.
    case uniform(Duration, Duration)
    /// Half of the packets take up to `median`, a quarter from there to twice that, an eighth to four times, and so on;
    /// never more than `most`.
    case longTailed(median: Duration, most: Duration)
}

extension ScenarioLatency {
    /// Returns random nanoseconds. Each case uses a fixed number of random values, whatever the result.
    func draw(_ random: inout SplitMix64) -> UInt64 {
        switch self {
        case .fixed(let duration):
            return duration.nanoseconds
        case .uniform(let least, let most):
            let low = min(least, most).nanoseconds
            return low + random.upTo(max(least, most).nanoseconds - low)
        case .longTailed(let median, let most):
            let doublings = random.next().leadingZeroBitCount
            let most = most.nanoseconds
            var low: UInt64 = 0
            var high = min(median.nanoseconds, most)
            for _ in 0..<doublings where high < most { (low, high) = (high, min(2 * high, most)) }
            return low + random.upTo(high - low)
        }
    }
}

extension UInt64 {
    /// Returns a later moment of a virtual clock, limited to its last moment.
    func advanced(byNanoseconds delay: UInt64) -> UInt64 {
        let (sum, isBeyond) = addingReportingOverflow(delay)
        return isBeyond ? .max : sum
    }
}
