import MeshBase
import MeshIdentity
import MeshSimulatedWatch

/// Sends reliable envelopes between a phone and its watches, through complete transports over a simulated
/// WatchConnectivity, in virtual time and on one thread. Checks that each arrives once and in order, and that the
/// newest snapshot arrives.
///
/// With `hasFaults`, the user and the system suspend, kill and relaunch apps with their stores. Apps crash during a
/// delivery. Sessions report false reachability. Transfers fail and messages are lost. Watches go out of range, and the
/// user switches between two of them. Every eighth seed has no faults: then all best-effort messages must arrive too,
/// including the first. The seed determines the run completely.
@available(macOS 15.0, iOS 18.0, watchOS 11.0, tvOS 18.0, visionOS 2.0, *)
public struct WatchSimulation: SeedSimulation {
    /// The number of envelopes in each direction.
    public var envelopes: UInt64
    public var hasFaults: Bool
    /// True if apps have stores for delivery. Without stores, messages are lost, and the simulation must detect that.
    public var hasStores = true
    /// Virtual time after which the run fails.
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

/// The progress of the envelopes from one device's app to another's.
struct WatchWay: Sendable {
    let from: Int
    let to: Int
    /// The number of the last envelope that the app may send so far.
    var allowed: UInt64 = 0
    /// The number of the last accepted envelope.
    var accepted: UInt64 = 0
    var isSending = false
    var delivered: UInt64 = 0
    /// True if envelopes that earlier launches of the receiver have handled may arrive again, until a new one arrives.
    var mayRepeat = false
    var repeatedCount: UInt64 = 0

    var featureID: String { "way \(from) to \(to)" }
}

/// The progress of the apps over all launches.
@available(macOS 15.0, iOS 18.0, watchOS 11.0, tvOS 18.0, visionOS 2.0, *)
struct WatchProgress: Sendable {
    var ways: [WatchWay]
    /// The newest accepted snapshot of each device.
    var published: [UInt64]
    /// True if the seed has no faults.
    let isCalm: Bool
    /// The number of the last best-effort message of each device. `heard` has the numbers that arrived.
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
            ways[way].mayRepeat = false
        } else if sequence <= ways[way].delivered, ways[way].mayRepeat {
            ways[way].repeatedCount += 1
        } else if failure == nil {
            failure = "\(featureID): \(sequence) came after \(ways[way].delivered)"
        }
    }
}
