import MeshBase
import MeshBrokenRules
import MeshKeySync
import MeshSimulatedWatch

/// Keys that a phone and its watch store, over complete transports and a simulated WatchConnectivity, in virtual time
/// and on one thread. Either app starts first, or both at once. A device is absent for days, or the two are out of each
/// other's reach. Apps are suspended, killed and relaunched. Commits are rejected, and the power fails during one. An
/// app is deleted and reinstalled.
///
/// Soon after the last change, with both apps in the foreground, each key has its last written value on both devices.
/// Both report it as synced. Local and secured keys haven't left their device. Manual keys leave when the app says so.
/// The seed determines the run completely.
@available(macOS 15.0, iOS 18.0, watchOS 11.0, tvOS 18.0, visionOS 2.0, *)
public struct KeyWatchSimulation: SeedSimulation {
    /// Mutations that the simulation detects; empty in a build that can't break rules. The tests of key sync detect all
    /// of these. The simulation misses some mutations:
    ///
    /// - `asksAlways`, `forgetsPieces` and `repeatsUndelivered` cost bytes or messages, but all values arrive.
    /// - `forgetsPeers` needs a third peer and more removals than are kept.
    /// - `sameNonce` needs a link that drops unchanged values.
    /// - `lastKeyOnly` is repaired by healing.
    /// - `noRecord` and `keepsAuthor` need more removals, or other restored stores, than seeds have.
    /// - `recordUnasked` is detected by one seed in thousands.
    /// - `marksAreKept` isn't detected by any test yet.
    public static let mutationNames =
        BrokenRules.areThere
        ? [
            "oneWay", "noTombstones", "arrivalOrder", "largeBlocks", "silentErrors", "manualIsAutomatic",
            "onlyAppAsks", "securedLeaves", "noAnswer", "noRetry", "noWants", "recordTooSoon", "equalSetsCount",
            "looseKeysWait", reusesOutbox,
        ] : []

    /// A fault of delivery: each launch of a transport generates the same outbox.
    static let reusesOutbox = "reusesOutbox"

    /// The number of batches, over both devices.
    public var changes: UInt32 = 40
    /// The virtual time allowed after the last change, or after both apps are in the foreground.
    public var patience: Duration = .seconds(120)
    let mutation: String?

    /// - Parameter mutation: An element of `mutationNames`.
    public init(mutation: String? = nil) { self.mutation = mutation }

    public func run(seed: UInt64, trace: Trace?) -> SeedOutcome {
        SimulationThread.run { [self] thread in
            breaking(mutation.flatMap(KeyMutation.init(rawValue:))) {
                KeyWatchRun(self, seed: seed, thread: thread, traceLimit: trace == nil ? 0 : 100_000).outcome(trace)
            }
        }
    }
}
