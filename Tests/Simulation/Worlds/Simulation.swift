import MeshBrokenRules
public import MeshDiagnostics

/// Options of a run, in addition to the schedule.
public struct SimulationOptions: Sendable {
    /// The name of the engine rule to break on purpose.
    public var mutation: String?
    public var stores = SimulatedStores.perfect
    public var setting = SimulationSetting.ordinary
    /// The number of peers in a group; nil lets each seed decide.
    public var members: Int?
    /// True if all peers are devices of one user, who doesn't need to invite them.
    public var isOwn = false
    /// Called at every step when one seed is inspected.
    public var trace: (@Sendable (String) -> Void)?
    /// Called with each frame and state change, for an inspector. Only settings that have a `World` call it.
    public var record: (@Sendable (DiagnosticsEntry) -> Void)?

    public init(
        mutation: String? = nil, stores: SimulatedStores = .perfect, setting: SimulationSetting = .ordinary,
        members: Int? = nil, isOwn: Bool = false, trace: (@Sendable (String) -> Void)? = nil,
        record: (@Sendable (DiagnosticsEntry) -> Void)? = nil
    ) {
        self.mutation = mutation
        self.stores = stores
        self.setting = setting
        self.members = members
        self.isOwn = isOwn
        self.trace = trace
        self.record = record
    }
}

/// Runs seeds: engines of several peers over a bad network in virtual time, all on the caller's thread.
public struct Simulation: Sendable {
    private let subjects: [SimulationSubject]
    private let options: SimulationOptions

    /// - Parameter subjects: The features to choose from, one for each seed. Must not be empty.
    public init(subjects: [SimulationSubject], options: SimulationOptions = SimulationOptions()) {
        precondition(!subjects.isEmpty, "a simulation needs a feature")
        self.subjects = subjects.sorted { $0.id < $1.id }
        self.options = options
    }

    /// Returns the feature of a seed. Even seeds use the first feature, or `LapFeature` in the setting `original`. Odd
    /// seeds use one of the others.
    public func subject(of seed: UInt64) -> SimulationSubject {
        if options.setting == .original, seed % 2 == 0 { return SimulationSubject(LapFeature.self) }
        guard subjects.count > 1, seed % 2 == 1 else { return subjects[0] }
        return subjects[1 + Int(seed / 2 % UInt64(subjects.count - 1))]
    }

    public func schedule(of seed: UInt64) -> Schedule {
        var schedule = Schedule(
            seed: seed, stores: options.stores, setting: options.setting, members: options.members)
        schedule.isOwn = options.isOwn
        // Large groups take twice as long to merge as to admit members.
        if options.isOwn, schedule.peerCount > 5 { schedule.end += 10_000 }
        return schedule
    }

    func outcome(of schedule: Schedule) -> WorldOutcome {
        outcome(of: schedule, options)
    }

    private func outcome(of schedule: Schedule, _ options: SimulationOptions) -> WorldOutcome {
        breaking(options.brokenRule) { subject(of: schedule.seed).run(schedule, options) }
    }
}

extension Simulation: ScheduledSimulation {
    public static let parts: [ScheduleParts<Schedule>] = [
        ScheduleParts(\.faults), ScheduleParts(\.taps), ScheduleParts(\.lies),
    ]

    public static let simplifications: [@Sendable (inout Schedule) -> Void] =
        Conditions.simplifications.map { calm in { calm(&$0.conditions) } }

    public func run(_ schedule: Schedule, trace: Trace?) -> SeedOutcome {
        var options = options
        if let trace { options.trace = trace }
        return SeedOutcome(outcome(of: schedule, options), options.stores, options.setting)
    }

    public func text(of schedule: Schedule) -> String { "feature \(subject(of: schedule.seed).id)\n\(schedule)" }
}

extension Conditions {
    /// Changes that each make one condition ideal.
    fileprivate static let simplifications: [@Sendable (inout Conditions) -> Void] = [
        { $0.loss = 0 }, { $0.duplication = 0 }, { $0.longTail = 0 }, { $0.crash = 0 }, { $0.refusedCommit = 0 },
        { $0.tornCommit = 0 }, { $0.lostSync = 0 }, { $0.silentStart = 0 },
        { $0.stateOnly = 0 },
        { $0.newer = [] }, { $0.abandoned = [] }, { $0.latency = 1 }, { $0.jitter = 5 }, { $0.ownEventsMax = 400 },
        { $0.skew = $0.skew.map { _ in 0 } },
    ]
}
