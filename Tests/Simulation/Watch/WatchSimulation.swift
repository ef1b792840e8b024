import MeshBase
import MeshIdentity
import MeshSimulatedWatch

/// Sends reliable envelopes between a phone and its watches, through whole transports over WatchConnectivity's stand-in, in
/// virtual time and on one thread, and checks that each arrives once and in order, and of snapshots the newest.
///
/// With `hasFaults`, apps are suspended, killed and launched anew with their stores, by the user and by the system; they
/// crash while they are handed something; sessions say of reachability what is not true; transfers fail, messages are lost;
/// watches go out of range, and the user switches between two of them. Every eighth seed is a good day all the same: then all
/// best effort has to arrive too, that of the first moments included. Everything follows from the seed.
@available(macOS 15.0, iOS 18.0, watchOS 11.0, tvOS 18.0, visionOS 2.0, *)
public struct WatchSimulation: SeedSimulation {
    /// On each way.
    public var envelopes: UInt64
    public var hasFaults: Bool
    /// Apps keep what delivery wants kept; without, what is lost with them is found.
    public var hasStores = true
    /// Virtual time after which it gives up.
    public var patience: Duration = .seconds(12 * 3600)

    public init(envelopes: UInt64 = 40, hasFaults: Bool = true) {
        self.envelopes = envelopes
        self.hasFaults = hasFaults
    }

    public func run(seed: UInt64, trace: Trace?) -> SeedOutcome {
        SimulationThread.run { [self] thread in
            WatchRun(self, seed: seed, thread: thread, traceLimit: trace == nil ? 0 : 100_000).outcome(trace)
        }
    }
}

/// What one device's app sends to another's.
struct WatchWay: Sendable {
    let from: Int
    let to: Int
    /// The last that the app may send by now.
    var allowed: UInt64 = 0
    /// The last that was accepted.
    var accepted: UInt64 = 0
    var isSending = false
    var delivered: UInt64 = 0
    /// Those that the receiver's earlier lives have had may come again, before anything new.
    var mayComeAgain = false
    var offeredAgain: UInt64 = 0

    var featureID: String { "way \(from) to \(to)" }
}

/// What the apps have done, over all their lives.
@available(macOS 15.0, iOS 18.0, watchOS 11.0, tvOS 18.0, visionOS 2.0, *)
struct WatchProgress: Sendable {
    var ways: [WatchWay]
    /// Of each device the newest snapshot that was accepted.
    var published: [UInt64]
    /// Nothing goes wrong.
    let isCalm: Bool
    /// Of each device the last that it has said as best effort, and what of it was heard.
    private(set) var said: [UInt64]
    private(set) var heard: [Set<UInt64>]
    var failure: String?

    init(ways: [WatchWay], devices: Int, isCalm: Bool) {
        self.ways = ways
        self.isCalm = isCalm
        published = [UInt64](repeating: 0, count: devices)
        said = published
        heard = [Set<UInt64>](repeating: [], count: devices)
    }

    mutating func say(at device: Int) -> UInt64 {
        said[device] += 1
        return said[device]
    }

    mutating func hear(_ number: UInt64, of peerID: String) {
        guard let device = heard.indices.first(where: { SessionPeer.ofPair($0).id == peerID }) else { return }
        heard[device].insert(number)
    }

    mutating func take(_ sequence: UInt64, on featureID: String, at device: Int) {
        guard let way = ways.firstIndex(where: { $0.featureID == featureID }), ways[way].to == device else { return }
        if sequence == ways[way].delivered + 1 {
            ways[way].delivered = sequence
            ways[way].mayComeAgain = false
        } else if sequence <= ways[way].delivered, ways[way].mayComeAgain {
            ways[way].offeredAgain += 1
        } else if failure == nil {
            failure = "\(featureID): \(sequence) came after \(ways[way].delivered)"
        }
    }
}
