import MeshBase
import MeshBrokenRules
import MeshKeySync
import MeshSimulatedWatch

/// Keys that a phone and its watch store, over whole transports and WatchConnectivity's stand-in, in virtual time and on one
/// thread. Either app is first, or both begin at once; one is absent for days, or the devices are out of each other's reach;
/// apps are suspended, and killed and launched anew; commits are refused, and the power goes during one; an app is deleted
/// and installed again.
///
/// Soon after the last change, with both apps in the foreground, each key has on both devices what was written last, and both
/// say that it is synced; what is local or secured has not left its device; what is manual leaves when the app says so.
/// Everything follows from the seed.
@available(macOS 15.0, iOS 18.0, watchOS 11.0, tvOS 18.0, visionOS 2.0, *)
public struct KeyWatchSimulation: SeedSimulation {
    /// Rules that it finds broken; none where none can be broken. Tests of key sync find all of these. Alone they find: `asksAlways`
    /// and `forgetsPieces`, which cost bytes and no value; `forgetsPeers`, which needs more removals than are kept and a third
    /// peer; `sameNonce`, which needs a link that drops what is as it was; `lastKeyOnly`, which healing mends; `noRecord` and
    /// `keepsAuthor`, which need more removals or other restored stores than are drawn; `recordUnasked`, which one seed in
    /// thousands finds; `repeatsUndelivered`, which costs messages. No test finds `marksAreKept` yet.
    public static let mutationNames =
        BrokenRules.areThere
        ? [
            "oneWay", "noTombstones", "arrivalOrder", "largeBlocks", "silentErrors", "manualIsAutomatic",
            "onlyAppAsks", "securedLeaves", "noAnswer", "noRetry", "noWants", "recordTooSoon", "equalSetsCount",
            "looseKeysWait", reusesOutbox,
        ] : []

    /// A fault of delivery: each launch of a transport draws the same outbox.
    static let reusesOutbox = "reusesOutbox"

    /// Batches, on both devices.
    public var changes: UInt32 = 40
    /// From the last change on, or from when both are in the foreground.
    public var patience: Duration = .seconds(120)
    let mutation: String?

    /// - Parameter mutation: one of `mutationNames`.
    public init(mutation: String? = nil) { self.mutation = mutation }

    public func run(seed: UInt64, trace: Trace?) -> SeedOutcome {
        SimulationThread.run { [self] thread in
            breaking(mutation.flatMap(KeyMutation.init(rawValue:))) {
                KeyWatchRun(self, seed: seed, thread: thread, traceLimit: trace == nil ? 0 : 100_000).outcome(trace)
            }
        }
    }
}
