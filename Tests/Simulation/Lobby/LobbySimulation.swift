import MeshBrokenRules
import MeshScenarioTransport
import MeshSession

/// Devices that begin a session at once, take over from each other, invite, end and begin the next, over a bad network in
/// virtual time and on one thread: out of each other's reach, with wrong clocks, crashing, and in some seeds without a store.
///
/// In the end everything heals, and all running devices go with one invitation: members show one state that has each tap of
/// that session once, spectators see it, nobody runs a session that it has left, and no call hangs. Everything follows from
/// the seed.
@available(macOS 15.0, iOS 18.0, watchOS 11.0, tvOS 18.0, visionOS 2.0, *)
public struct LobbySimulation: ScheduledSimulation {
    private let devices: Int?
    private let mutation: LobbyMutation?
    private let comparesRecorder: Bool

    /// - Parameters:
    ///   - devices: 2 to 5; nil has two, three and five take turns.
    ///   - mutation: one of `mutationNames`.
    ///   - comparesRecorder: plays each seed once more with a `DiagnosticsSession` around every transport, which must change nothing.
    public init(devices: Int? = nil, mutation: String? = nil, comparesRecorder: Bool = false) {
        self.devices = devices
        self.mutation = mutation.flatMap(LobbyMutation.init(rawValue:))
        self.comparesRecorder = comparesRecorder
    }

    public static var mutationNames: [String] {
        BrokenRules.areThere ? LobbyMutation.allCases.map(\.rawValue) : []
    }

    public static let parts = [ScheduleParts<LobbySchedule>(\.entries)]

    public func schedule(of seed: UInt64) -> LobbySchedule {
        LobbySchedule(seed: seed, devices: devices ?? [2, 3, 5][Int(seed % 3)])
    }

    public func run(_ schedule: LobbySchedule, trace: Trace?) -> SeedOutcome {
        var outcome = play(schedule, trace)
        if comparesRecorder, outcome.failure == nil {
            let (plain, recorded) = (account(of: outcome), account(of: play(schedule, trace, isRecorded: true)))
            if recorded != plain { outcome.failure = "with recorders: \(recorded), without: \(plain)" }
        }
        let devices = "\(schedule.devices)"
        outcome.tables["seedsByDevices"] = [devices: 1]
        outcome.tables["failuresByDevices"] = outcome.failure.map { _ in [devices: 1] } ?? [:]
        return outcome
    }

    private func play(_ schedule: LobbySchedule, _ trace: Trace?, isRecorded: Bool = false) -> SeedOutcome {
        SimulationThread.run { [mutation] thread in
            let run = LobbyRun(schedule, thread: thread, isRecorded: isRecorded)
            var outcome = SeedOutcome(seed: schedule.seed, failure: breaking(mutation) { run.play() })
            outcome.faults = run.faults
            outcome.counts = ["taps": Int(run.tapCount)]
            outcome.greatest = ["slowestSeconds": run.agreedAfter / .seconds(1)]
            outcome.simulatedSeconds = run.network.elapsed / .seconds(1)
            if outcome.failure != nil { trace?(run.account) }
            return outcome
        }
    }

    /// What users see. Not when, and not how many faults found an app running: a recorder's tasks take turns of their own.
    private func account(of outcome: SeedOutcome) -> String {
        "\(outcome.failure ?? "agreed"), \(outcome.counts["taps"] ?? 0) taps"
    }
}
