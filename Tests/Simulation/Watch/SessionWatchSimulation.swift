import MeshBase
import MeshBrokenRules
import MeshSimulatedWatch

/// Taps on a phone and its watch that share a session, over complete transports and a simulated WatchConnectivity. Apps
/// go to the background for a moment, are suspended, killed and relaunched. All of it runs in virtual time on one
/// thread.
///
/// A user sets a device's clock now and then, by up to an hour either way. Every timer that a tap has started must show
/// the time that has passed, to within its stated error.
///
/// Ten seconds after the last tap, with both apps in the foreground, the states are equal. If apps have stores, the
/// states hold every tap once. The seed determines the run completely.
///
/// Some taps are urgent. In most seeds the watch face shows the app's complication, so urgent taps may wake the watch.
/// At most one wake is spent on each, and at most 50 a day.
///
/// Events lose a field when they are encoded, and the states must not show that. In one seed of sixteen the watch's app
/// has a different reducer. Both devices must report that within ten seconds after the next 64 taps. In another seed of
/// sixteen the apps also state different versions of their reducers. In that seed and all others no device may report a
/// difference.
///
/// With `losesPower`, taps come in bursts, also while the devices are out of each other's reach. Commits are rejected.
/// The power fails during a commit, while late events are being reduced, or while a copy arrives. In a few seeds a
/// store is lost. Stored taps must then be shown once, and unwritten taps may be missing.
@available(macOS 15.0, iOS 18.0, watchOS 11.0, tvOS 18.0, visionOS 2.0, *)
public struct SessionWatchSimulation: SeedSimulation {
    /// The number of taps, over both devices.
    let taps: UInt32
    /// The virtual time allowed after the last tap, or after both apps are in the foreground.
    public var patience: Duration = .seconds(10)
    public let losesPower: Bool
    let mutation: String?

    /// Names of the session mutations that runs with power failures detect, and of all engine mutations.
    public static var mutationNames: [String] {
        Simulation.sessionMutationNames + Simulation.mutationNames + Simulation.coveredMutationNames
    }

    /// - Parameter mutation: An element of `mutationNames`.
    public init(losesPower: Bool = false, mutation: String? = nil) {
        taps = losesPower ? 300 : 30
        self.losesPower = losesPower
        self.mutation = mutation
    }

    public func run(seed: UInt64, trace: Trace?) -> SeedOutcome {
        SimulationThread.run { [self] thread in
            breaking(mutation.flatMap(EngineMutation.init(rawValue:))) {
                SessionWatchRun(self, seed: seed, thread: thread, traceLimit: trace == nil ? 0 : 100_000).outcome(trace)
            }
        }
    }
}
