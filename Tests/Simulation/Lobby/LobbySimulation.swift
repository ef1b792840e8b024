import MeshBase
import MeshScenarioTransport
import MeshSession

/// Devices that begin a session at once, take over from each other, invite, end and begin the next, over a bad network in
/// virtual time and on one thread: out of each other's reach, with wrong clocks, crashing, and in some seeds without a store.
///
/// In the end everything heals, and all running devices go with one invitation: members show one state that has each tap of
/// that session once, spectators see it, nobody runs a session that it has left, and no call hangs. Everything follows from
/// the seed.
@available(macOS 15.0, iOS 18.0, watchOS 11.0, tvOS 18.0, visionOS 2.0, *)
public struct LobbySimulation: Sendable {
    /// 2 to 5; nil has two, three and five take turns.
    public var devices: Int?
    /// The name of a rule of the lobby to break on purpose.
    public var mutation: String?
    /// Plays each seed once more with a `DiagnosticsSession` around every transport, which must change nothing.
    public var comparesRecorder = false

    public init(devices: Int? = nil, mutation: String? = nil) {
        self.devices = devices
        self.mutation = mutation
    }

    /// The rules that can be broken, in the order of their declaration; none in a build that breaks none.
    public static var mutationNames: [String] {
        LobbyMutation.areCompiledIn ? LobbyMutation.allCases.map(\.rawValue) : []
    }

    public func devices(ofSeed seed: UInt64) -> Int { devices ?? [2, 3, 5][Int(seed % 3)] }

    /// What became of one seed.
    public struct Report: Sendable, Encodable {
        public let seed: UInt64
        public let devices: Int
        /// What went wrong; nil when nothing did.
        public internal(set) var failure: String?
        public let taps: UInt32
        /// By kind, what users do among them.
        public let faults: [String: Int]
        /// How long after all had healed everything was as it should be.
        public let agreedAfterSeconds: Double
        public let simulatedSeconds: Double
        public let wallSeconds: Double
    }

    /// - Parameter trace: is told of everything that happens on the devices, if the run fails.
    public func run(seed: UInt64, trace: ((String) -> Void)? = nil) -> Report {
        let schedule = LobbySchedule(seed: seed, devices: devices(ofSeed: seed))
        var report = run(schedule, trace)
        guard comparesRecorder, report.failure == nil else { return report }
        let recorded = run(schedule, trace, isRecorded: true)
        if recorded.outcome != report.outcome {
            report.failure = "with recorders: \(recorded.outcome), without: \(report.outcome)"
        }
        return report
    }

    private func run(
        _ schedule: LobbySchedule, _ trace: ((String) -> Void)? = nil, isRecorded: Bool = false
    ) -> Report {
        let rule = mutation.flatMap(LobbyMutation.init(rawValue:))
        let (report, account) = SimulationThread.run { thread in
            let start = ContinuousClock.now
            let run = LobbyRun(schedule, mutation: rule, thread: thread, isRecorded: isRecorded)
            let failure = run.play()
            let report = Report(
                seed: schedule.seed, devices: schedule.devices, failure: failure, taps: run.tapCount,
                faults: run.faults, agreedAfterSeconds: run.agreedAfter / .seconds(1),
                simulatedSeconds: run.network.elapsed / .seconds(1),
                wallSeconds: start.duration(to: .now) / .seconds(1))
            return (report, failure == nil ? "" : run.account)
        }
        if report.failure != nil { trace?(account) }
        return report
    }
}

@available(macOS 15.0, iOS 18.0, watchOS 11.0, tvOS 18.0, visionOS 2.0, *)
extension LobbySimulation.Report {
    /// What users see. Not when, and not how many faults found an app running: a recorder's tasks take turns of their own.
    fileprivate var outcome: String { "\(failure ?? "agreed"), \(taps) taps" }
}

// MARK: - Shrinking

@available(macOS 15.0, iOS 18.0, watchOS 11.0, tvOS 18.0, visionOS 2.0, *)
extension LobbySimulation {
    /// The steps of a seed, for a person to read.
    public func schedule(ofSeed seed: UInt64) -> String {
        LobbySchedule(seed: seed, devices: devices(ofSeed: seed)).description
    }

    /// What is left of a failing seed's steps once all have gone that the failure does not need, what then goes wrong, and
    /// what happens on the devices; nil for a seed that does not fail.
    public func shrunk(seed: UInt64) -> (schedule: String, failure: String, account: String)? {
        var schedule = LobbySchedule(seed: seed, devices: devices(ofSeed: seed))
        guard run(schedule).failure != nil else { return nil }
        var length = schedule.entries.count / 2
        while length > 0 {
            var start = 0
            while start + length <= schedule.entries.count {
                let smaller = schedule.without(start..<start + length)
                if run(smaller).failure != nil { schedule = smaller } else { start += length }
            }
            length /= 2
        }
        let account = Locked("")
        let report = run(schedule) { text in account.withLock { $0 = text } }
        return report.failure.map { (schedule.description, $0, account.withLock { $0 }) }
    }
}
