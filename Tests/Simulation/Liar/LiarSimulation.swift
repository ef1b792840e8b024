import MeshBrokenRules
import MeshScenarioTransport

/// A phone and a tablet whose user also paired a watch that lies. Complete apps with a lobby, a session, series, shown
/// values and stored keys run over a network in virtual time, on one thread. The watch runs the same app, but some of
/// its messages are forged.
///
/// Honest apps survive, accept their user's actions, and can read their stores after a relaunch. When the watch has
/// gone, they begin a new session in which each has the events of both. The seed determines the run completely.
@available(macOS 15.0, iOS 18.0, watchOS 11.0, tvOS 18.0, visionOS 2.0, *)
public struct LiarSimulation: SeedSimulation {
    private let mutation: LiarMutation?

    /// - Parameter mutation: An element of `mutationNames`.
    public init(mutation: String? = nil) { self.mutation = mutation.flatMap(LiarMutation.init(rawValue:)) }

    public static var mutationNames: [String] {
        BrokenRules.areThere ? LiarMutation.allCases.map(\.rawValue) : []
    }

    public func run(seed: UInt64, trace: Trace?) -> SeedOutcome {
        SimulationThread.run { [mutation] thread in
            let run = LiarRun(seed: seed, thread: thread)
            var outcome = SeedOutcome(seed: seed, failure: breaking(mutation) { run.play() })
            outcome.faults = run.faults
            outcome.counts = ["forged": run.lies.values.reduce(0, +), "launches": run.launches]
            outcome.greatest = ["slowestSeconds": run.agreedAfter / .seconds(1)]
            outcome.tables["forgedByType"] = run.lies
            outcome.simulatedSeconds = run.network.elapsed / .seconds(1)
            if outcome.failure != nil { trace?(run.account) }
            return outcome
        }
    }
}
