import MeshBase
import MeshBrokenRules
import MeshSimulatedWatch

/// Taps on a phone and its watch that share a session, over whole transports and WatchConnectivity's stand-in, in virtual
/// time and on one thread. Apps go to the background for a moment, are suspended, and are killed and launched anew.
///
/// Somebody sets a device's clock now and then, by up to an hour either way. Every timer that a tap has begun shows the time that
/// has passed, to within the error that its reading states.
///
/// Ten seconds after the last tap with both apps in the foreground, the states are equal; where apps have stores, they
/// hold every tap once. Everything follows from the seed.
///
/// Events lose a field when they are encoded, which must not show. In one seed of sixteen the watch's app reduces otherwise:
/// then both devices have to say so within ten seconds of the next 64 taps; in another one the apps also state different
/// versions of their reducers, and nothing is said. In all others nothing may be said.
///
/// With `losesPower` taps come in bursts, also while the devices are out of each other's reach; commits are refused; the
/// power goes during one, or while what came late is being reduced or a copy arrives; and in a few seeds a store is lost.
/// Then what the stores had taken is shown once, and what had not been written is or is not.
@available(macOS 15.0, iOS 18.0, watchOS 11.0, tvOS 18.0, visionOS 2.0, *)
public struct SessionWatchSimulation: SeedSimulation {
    /// On both devices.
    let taps: UInt32
    /// From the last tap on, or from when both are in the foreground.
    public var patience: Duration = .seconds(10)
    public let losesPower: Bool
    let mutation: String?

    /// Rules of sessions that show where the power goes, and all of the engine.
    public static var mutationNames: [String] {
        Simulation.sessionMutationNames + Simulation.mutationNames + Simulation.coveredMutationNames
    }

    /// - Parameter mutation: one of `mutationNames`.
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
