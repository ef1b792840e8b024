import MeshBrokenRules
import MeshScenarioTransport
import MeshSession

/// Devices with a lobby over a bad network. They open sessions at once, open new ones that supersede them, invite each
/// other, and end sessions. They are partitioned, have wrong clocks and crash, and in some seeds one has no store. All
/// of it runs in virtual time on one thread.
///
/// In the end everything heals, and all running devices follow one invitation. Members show one state that has each tap
/// of that session once, and spectators see it. No device runs a session that it has left, and no call hangs. The seed
/// determines the run completely.
@available(macOS 15.0, iOS 18.0, watchOS 11.0, tvOS 18.0, visionOS 2.0, *)
public struct LobbySimulation: ScheduledSimulation {
    private let devices: Int?
    private let mutation: LobbyMutation?
    private let comparesRecorder: Bool

    /// - Parameters:
    ///   - devices: The number of devices, 2 to 5; nil alternates between two, three and five.
    ///   - mutation: An element of `mutationNames`.
    ///   - comparesRecorder: Runs each seed again with a `DiagnosticsSession` around every transport, which must change
    ///     nothing.
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

    /// Returns the part of an outcome that must not depend on recorders. It leaves out times and the number of faults
    /// that hit a running app, because a recorder's tasks run at other moments.
    private func account(of outcome: SeedOutcome) -> String {
        "\(outcome.failure ?? "agreed"), \(outcome.counts["taps"] ?? 0) taps"
    }
}
